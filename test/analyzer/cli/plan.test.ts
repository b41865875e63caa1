import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { otlp, signup } from '../report/otlp.ts';
import { waitfall } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitfall-plan-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, content: string | Buffer) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

/** Requests of 4 s at 10/s and of 4 s at 50/s, all of `signup`. */
const AT_MS = [
  ...Array.from({ length: 40 }, (_, i) => i * 100),
  ...Array.from({ length: 200 }, (_, i) => 4000 + i * 20),
];
const START_MS = 1_760_000_000_000;
const traces = file('traces.jsonl', AT_MS.map((ms, i) => otlp(signup(i + 1, ms * 1e6))).join('\n'));

const k6Lines = AT_MS.flatMap((ms) => {
  const time = new Date(START_MS + ms + 10).toISOString();
  const tags = { status: '200', expected_response: 'true' };
  return ['http_reqs', 'http_req_duration'].map((metric) =>
    JSON.stringify({ metric, type: 'Point', data: { time, value: 10, tags } }),
  );
}).join('\n');

async function windows(plan: string) {
  const { code, stdout, stderr } = await waitfall(['report', traces, '--load', plan, '--format', 'json']);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout).windows.map((window: { plannedPerSecond: number }) => window.plannedPerSecond);
}

test('--load takes the samples of k6, compressed or not, as it takes load.json', async () => {
  const step = (from: number, to: number, arrivalsPerSecond: number) => ({
    startUnixNano: `${BigInt(START_MS + from) * 1_000_000n}`,
    endUnixNano: `${BigInt(START_MS + to) * 1_000_000n}`,
    arrivalsPerSecond,
  });
  const json = file('load.json', JSON.stringify({ steps: [step(0, 4000, 10), step(4000, 8000, 50)] }));
  assert.deepEqual(await windows(json), [10, 50]);
  assert.deepEqual(await windows(file('k6.json', k6Lines)), [10, 50]);
  assert.deepEqual(await windows(file('k6.json.gz', gzipSync(k6Lines))), [10, 50]);
});

test('--load says what is wrong with a file that is no plan', async () => {
  for (const [path, message] of [
    [traces, /traces\.jsonl: is no load plan/],
    [join(folder, 'none.json'), /none\.json: cannot be read/],
  ] as const) {
    const { code, stderr } = await waitfall(['report', traces, '--load', path]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  }
});
