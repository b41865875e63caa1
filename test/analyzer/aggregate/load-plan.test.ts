import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLoadPlan, planAgainstTraces } from '../../../analyzer/src/aggregate/load-plan.ts';

const S = 1_000_000_000n;
const T0 = 1_800_000_000n * S;
const step = (from: number, to: number, rate: number) => ({
  startUnixNano: String(T0 + BigInt(from) * S),
  endUnixNano: String(T0 + BigInt(to) * S),
  arrivalsPerSecond: rate,
});

test('three fields a step are enough', () => {
  const { plan, notes } = parseLoadPlan({ steps: [step(0, 5, 20), step(5, 10, 40)] });
  assert.deepEqual(notes, []);
  assert.equal(plan?.steps.length, 2);
  assert.equal(plan?.steps[1].arrivalsPerSecond, 40);
  assert.equal(plan?.steps[1].phase, null);
  assert.equal(plan?.steps[1].planned, null);
});

const REFUSED: [string, unknown, RegExp][] = [
  ['no object', 'steps', /not a JSON object/],
  ['no steps', { manifest: {} }, /has no "steps"/],
  [
    'a step without end',
    { steps: [{ startUnixNano: String(T0), arrivalsPerSecond: 3 }] },
    /steps\[0\]\.endUnixNano is missing/,
  ],
  [
    'a step without rate',
    { steps: [{ ...step(0, 5, 1), arrivalsPerSecond: undefined }] },
    /arrivalsPerSecond is missing/,
  ],
  ['a negative rate', { steps: [step(0, 5, -1)] }, /no rate/],
  [
    'milliseconds',
    { steps: [{ startUnixNano: '1800000000000', endUnixNano: '1800000005000', arrivalsPerSecond: 3 }] },
    /not epoch nanoseconds/,
  ],
  ['an end before its start', { steps: [step(5, 0, 3)] }, /ends at or before its start/],
];
for (const [name, content, message] of REFUSED) {
  test(`refused with a reason: ${name}`, () => {
    const { plan, notes } = parseLoadPlan(content, 'load.json');
    assert.equal(plan, null);
    assert.match(notes[0], message);
    assert.match(notes[0], /^load\.json: /);
  });
}

test('steps out of order are sorted, and that is said', () => {
  const { plan, notes } = parseLoadPlan({ steps: [step(5, 10, 40), step(0, 5, 20)] });
  assert.deepEqual(
    plan?.steps.map((one) => one.arrivalsPerSecond),
    [20, 40],
  );
  assert.match(notes[0], /not in order/);
});

test('overlapping steps are cut, and that is said', () => {
  const { plan, notes } = parseLoadPlan({ steps: [step(0, 6, 20), step(5, 10, 40)] });
  assert.equal(plan?.steps[0].endUnixNano, plan?.steps[1].startUnixNano);
  assert.match(notes[0], /overlap by 1000 ms/);
});

test('a plan of another run is not used, and says how far apart they are', () => {
  const { plan } = parseLoadPlan({ steps: [step(0, 5, 20)] });
  const check = planAgainstTraces(plan!, T0 + 100n * S, T0 + 105n * S, 0, 50);
  assert.equal(check.usable, false);
  assert.match(check.notes[0], /does not overlap the traces/);
  assert.match(check.notes[0], /95\.0 s apart/);
});

test('a plan that covers only some of the requests is used, and says so', () => {
  const { plan } = parseLoadPlan({ steps: [step(0, 5, 20)] });
  const check = planAgainstTraces(plan!, T0, T0 + 9n * S, 60, 100);
  assert.equal(check.usable, true);
  assert.match(check.notes[0], /40 of 100 requests \(40 %\)/);
});
