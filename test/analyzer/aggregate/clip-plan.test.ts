import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clipPlan, parseLoadPlan } from '../../../analyzer/src/aggregate/load-plan.ts';

const START = 1_760_000_000_000_000_000n;
const SECOND = 1_000_000_000n;
const { plan } = parseLoadPlan({
  steps: [0n, 10n, 20n].map((at) => ({
    startUnixNano: String(START + at * SECOND),
    endUnixNano: String(START + (at + 10n) * SECOND),
    arrivalsPerSecond: 50,
    planned: 500,
  })),
});

test('a part of a run has only the steps in it; a cut step keeps its rate, not its counts', () => {
  assert.ok(plan);
  const { steps } = clipPlan(plan, START + 5n * SECOND, START + 20n * SECOND);
  assert.deepEqual(
    steps.map(({ startUnixNano, endUnixNano, arrivalsPerSecond, planned }) => [
      startUnixNano - START,
      endUnixNano - START,
      arrivalsPerSecond,
      planned,
    ]),
    [
      [5n * SECOND, 10n * SECOND, 50, null],
      [10n * SECOND, 20n * SECOND, 50, 500],
    ],
  );
});

test('a plan without limits stays as it is', () => {
  assert.ok(plan);
  assert.deepEqual(clipPlan(plan, undefined, undefined), plan);
});
