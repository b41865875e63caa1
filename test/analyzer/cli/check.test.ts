import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseBudgets } from '../../../analyzer/src/cli/check/budget.ts';
import { otlp, signup } from '../report/otlp.ts';
import { waitfall } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitfall-check-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'traces.jsonl');
// Sign-ups of 60, 70, 80 and 160 ms: the stretch is a wait for the row.
writeFileSync(file, otlp([0, 10, 20, 100].flatMap((slow, i) => signup(i + 1, i * 500_000_000, slow))));

const judged = async (budget: string) => {
  const { code, stdout, stderr } = await waitfall(['check', file, '--budget', budget, '--format', 'json']);
  assert.equal(stderr, '');
  const [first] = JSON.parse(stdout).budgets as { value: number | null; kept: boolean; note: string }[];
  assert.equal(code, first.kept ? 0 : 3);
  return first;
};

test('a budget is judged by the value the report shows, and exits with 3 where it is broken', async () => {
  assert.deepEqual(await judged('max<160.001ms'), {
    ...(await judged('max<160ms')),
    budget: 'max<160.001ms',
    limit: 160_001_000,
    kept: true,
  });
  assert.deepEqual(await judged('p50<70ms'), {
    budget: 'p50<70ms',
    limit: 70_000_000,
    value: 70_000_000,
    kept: false,
    note: '',
  });
  assert.equal((await judged('mean<1s')).value, 92_500_000);
  assert.equal((await judged('errors<50%')).value, 0);
});

test('a limit that may be reached is kept where it is', async () => {
  assert.equal((await judged('p50<=70ms')).kept, true);
  assert.equal((await judged('p50<=69.999ms')).kept, false);
  assert.equal((await judged('errors<=0')).kept, true);
  assert.equal((await judged('errors<0.1%')).kept, true);
  assert.equal((await judged('coverage>=100%')).kept, (await judged('coverage>99.999%')).value === 1);
});

test('segments and queues are limited by their own time in each request', async () => {
  const report = JSON.parse((await waitfall(['report', file, '--format', 'json'])).stdout);
  const lock = report.requests.segments.find((row: { segment: string }) => row.segment === 'lock_wait');
  assert.equal((await judged('lock_wait p99<1s')).value, lock.p99Ns);
  assert.equal((await judged(`${lock.resource} mean<1s`)).value, lock.meanNs);
  assert.equal((await judged('lock_wait share<99%')).value, lock.share);
});

test('what the input cannot say is not kept', async () => {
  assert.deepEqual(await judged('threadpool_wait p99<1s'), {
    budget: 'threadpool_wait p99<1s',
    limit: 1_000_000_000,
    value: null,
    kept: false,
    note: 'not measured in this input',
  });
  assert.match((await judged('lock:campain p99<1s')).note, /did you mean lock:campaign\?/);
  // Four requests say nothing about a capacity.
  assert.deepEqual([(await judged('knee>1/s')).value, (await judged('knee>1/s')).kept], [null, false]);
});

test('text: a row a budget, and the answer on one line', async () => {
  const kept = await waitfall(['check', file, '--budget', 'p99<1s', '--budget', 'coverage>1%']);
  assert.equal(kept.code, 0, kept.stderr);
  assert.match(kept.stdout, /^Budgets over 4 requests$/m);
  assert.match(kept.stdout, /^All budgets are kept$/m);
  const broken = await waitfall(['check', file, '--budget', 'p99<1ms, coverage>1%']);
  assert.equal(broken.code, 3);
  assert.match(broken.stdout, /^ {2}p99<1ms +160 ms {2}BROKEN$/m);
  assert.match(broken.stdout, /^1 of 2 budgets not kept$/m);
});

test('a budget that is not understood is refused with what could be meant', async () => {
  const cases: [string, RegExp][] = [
    ['p98<1ms', /p98 is nothing that can be limited/],
    ['p99<fast', /'fast' is no duration, such as 200ms/],
    ['p99>1ms', /p99 is limited with </],
    ['coverage<80%', /coverage is limited with >/],
    ['errors<200%', /'200%' is no share/],
    ['share<5%', /share needs a segment or a queue/],
    ['lock_wait errors<1%', /errors is a number of the requests, not of lock_wait/],
    ['please', /write limits such as/],
  ];
  for (const [text, message] of cases) assert.throws(() => parseBudgets(text), message);
  const { code, stderr } = await waitfall(['check', file, '--budget', 'p98<1ms']);
  assert.equal(code, 2);
  assert.match(stderr, /^waitfall: --budget: 'p98<1ms' is not understood/);
  assert.equal((await waitfall(['check', file])).code, 2);
});

test('1: without a usable trace there is nothing to check', async () => {
  const empty = join(folder, 'empty.json');
  writeFileSync(empty, '{}');
  const { code, stderr } = await waitfall(['check', empty, '--budget', 'p99<1s']);
  assert.equal(code, 1);
  assert.match(stderr, /holds no usable trace/);
});
