import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseLoadPlan } from '../../../analyzer/src/aggregate/load-plan.ts';
import { readInputs } from '../../../analyzer/src/read/index.ts';

const directory = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
after(() => rmSync(directory, { recursive: true }));

const START_MS = Date.parse('2026-05-01T12:00:00.200Z');

/** One line of k6 at `ms` after the start of the run; k6 stamps a request when its answer is complete. */
function point(metric: string, ms: number, value: number, tags: Record<string, string> = {}): string {
  const time = new Date(START_MS + ms).toISOString().replace('Z', '678901Z');
  return JSON.stringify({ metric, type: 'Point', data: { time, value, tags } });
}

function request(startMs: number, tookMs: number, tags: Record<string, string> = {}): string[] {
  const all = { status: '200', expected_response: 'true', ...tags };
  return [
    point('http_reqs', startMs + tookMs, 1, all),
    point('http_req_duration', startMs + tookMs, tookMs, all),
    point('http_req_waiting', startMs + tookMs, tookMs / 2, all),
  ];
}

async function planOf(lines: string[]) {
  const path = join(directory, 'k6.json');
  const head = JSON.stringify({
    type: 'Metric',
    metric: 'http_reqs',
    data: { name: 'http_reqs', type: 'counter' },
  });
  writeFileSync(path, `${[head, ...lines].join('\n')}\n`);
  const input = await readInputs([path]);
  assert.deepEqual(input.rejected, []);
  assert.equal(input.loadPlans.length, 1);
  const { plan, notes } = parseLoadPlan(input.loadPlans[0]!.content);
  assert.deepEqual(notes, []);
  return plan!;
}

const each = (from: number, to: number, everyMs: number, line: (ms: number) => string[]): string[] => {
  const lines: string[] = [];
  for (let ms = from; ms < to; ms += everyMs) lines.push(...line(ms));
  return lines;
};

test('two rates become two steps, by the start of the requests, whenever they ended', async () => {
  const plan = await planOf([
    ...each(0, 4000, 100, (ms) => request(ms, 1500)),
    ...each(4000, 8000, 20, (ms) => request(ms, 30)),
  ]);
  assert.deepEqual(
    plan.steps.map((step) => [step.arrivalsPerSecond, step.started, step.succeeded]),
    [
      [10, 40, 40],
      [50, 200, 200],
    ],
  );
  const [first, second] = plan.steps;
  assert.equal(first!.endUnixNano, second!.startUnixNano);
  assert.equal(first!.endUnixNano - first!.startUnixNano, 4_000_000_000n);
  assert.equal(first!.startUnixNano / 1_000_000_000n, BigInt(Math.floor(START_MS / 1000)));
});

test('outcomes are kept apart; what was planned and never started counts as offered', async () => {
  const plan = await planOf([
    ...request(0, 10),
    ...request(100, 10, { status: '503', expected_response: 'false' }),
    ...request(200, 10, { status: '404', expected_response: 'false' }),
    ...request(300, 60, { status: '0', error_code: '1050', expected_response: 'false' }),
    ...request(400, 10, { status: '0', error_code: '1212', expected_response: 'false' }),
    point('dropped_iterations', 500, 3),
  ]);
  const [step] = plan.steps;
  assert.deepEqual(
    [step!.planned, step!.started, step!.dropped, step!.succeeded, step!.rejected],
    [8, 5, 3, 1, 1],
  );
  assert.deepEqual([step!.timedOut, step!.transportFailed, step!.invalid], [1, 1, 1]);
});

test('noise and one slow second are no step', async () => {
  const counts = [50, 46, 55, 49, 30, 52, 47, 51];
  const lines = counts.flatMap((count, second) =>
    each(second * 1000, second * 1000 + 1000, 1000 / count, (ms) => request(Math.round(ms), 5)),
  );
  assert.equal((await planOf(lines)).steps.length, 1);
});
