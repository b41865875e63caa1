import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { EPOCH, otlp, signup } from '../report/otlp.ts';
import { waitfall } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitfall-compare-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Two steps of 40 requests, with the service's manifest beside them. */
function run(name: string, service: object, slow: number): string {
  const path = join(folder, name);
  mkdirSync(path);
  const spans = Array.from({ length: 80 }, (_, i) =>
    signup(i + 1, i < 40 ? i * 100_000_000 : 4_000_000_000 + (i - 40) * 50_000_000, slow),
  ).flat();
  writeFileSync(join(path, 'traces.jsonl'), `${otlp(spans)}\n`);
  const step = (from: number, to: number, arrivalsPerSecond: number) => ({
    startUnixNano: String(EPOCH + BigInt(from) * 1_000_000_000n),
    endUnixNano: String(EPOCH + BigInt(to) * 1_000_000_000n),
    arrivalsPerSecond,
    phase: 'ramp',
    dropped: 0,
  });
  writeFileSync(
    join(path, 'load.json'),
    JSON.stringify({
      steps: [step(0, 4, 10), step(4, 6, 20)],
      invariants: [{ name: 'stock is conserved', holds: slow < 40, detail: '' }],
    }),
  );
  writeFileSync(join(path, 'manifest.json'), JSON.stringify({ variant: name, service }));
  return path;
}

const before = run('before', { poolMax: 10, audit: 'transaction' }, 30);
const better = run('better', { poolMax: 10, audit: 'outbox' }, 0);
const both = run('both', { poolMax: 20, audit: 'outbox' }, 50);

test('one change is told as an experiment, its checklist at the end', async () => {
  const { code, stdout, stderr } = await waitfall(['compare', before, better]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /Change\n {2}service\.audit transaction -> outbox\n/);
  assert.match(stdout, /At the same load \(before → after\)\n/);
  assert.match(stdout, /at 10\/s offered .* 90 ms → 60 ms/);
  assert.match(stdout, /- met: exactly one variable was changed/);
  assert.match(stdout, /- unknown: the runs were repeated/);
  for (const line of stdout.split('\n')) {
    assert.ok(line.length <= 80 || line.startsWith('before: ') || line.startsWith('after: '), line);
  }
});

test('two changes at once and a broken invariant are flagged', async () => {
  const { stdout } = await waitfall(['compare', before, both]);
  assert.match(stdout, /2 variables changed at once/);
  assert.match(stdout, /- not met: exactly one variable was changed/);
  assert.match(stdout, /invariant broken in the after run: stock is conserved/);
});

test('JSON and Markdown hold the same record', async () => {
  const json = JSON.parse((await waitfall(['compare', before, better, '--format', 'json'])).stdout);
  assert.equal(json.before, before);
  assert.deepEqual(json.change.differences, [
    { path: 'service.audit', before: 'transaction', after: 'outbox' },
  ]);
  const markdown = (await waitfall(['compare', before, better, '--format', 'markdown'])).stdout;
  assert.match(markdown, /^# Waitfall comparison\n/);
  assert.match(markdown, /\| at 10\/s offered \|/);
});

test('what cannot be compared is refused', async () => {
  const empty = join(folder, 'empty.json');
  writeFileSync(empty, '{}');
  const none = await waitfall(['compare', before, empty]);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /empty\.json: holds no usable trace/);
  assert.equal((await waitfall(['compare', before])).code, 2);
  writeFileSync(join(better, 'manifest.json'), 'no json');
  const broken = await waitfall(['compare', before, better]);
  assert.equal(broken.code, 2);
  assert.match(broken.stderr, /manifest\.json: a manifest is JSON/);
});
