import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitTailLimit, weightFromTraceState } from '../../../analyzer/src/aggregate/weights.ts';

const WEIGHTS: [string, number | null][] = [
  ['ot=th:8', 2],
  ['ot=th:c', 4],
  ['ot=th:0', 1],
  ['ot=th:80000000000000', 2],
  ['ot=rv:abcdef01234567;th:8', 2],
  ['vendor=x,ot=th:8;rv:1', 2],
  ['vendor=x, ot=th:c', 4],
  ['', null],
  ['ot=rv:1', null],
  ['xot=th:8', null],
  ['ot=th:zz', null],
  ['ot=th:800000000000001', null],
];
for (const [traceState, weight] of WEIGHTS) {
  test(`weight of tracestate '${traceState}'`, () => assert.equal(weightFromTraceState(traceState), weight));
}

test('th close to 1: the weight stays finite', () => {
  assert.equal(weightFromTraceState('ot=th:ffffffffffffff'), 2 ** 56);
});

/** 100 offered; `slow` of them take 50 ms or more and are all kept, every tenth of the others is. */
function window(slow: number): { offered: number; durationsNs: Float64Array; failed: Uint8Array } {
  const fast = Math.round((100 - slow) / 10);
  const durations = [
    ...Array.from({ length: fast }, (_, i) => (5 + i) * 1e6),
    ...Array.from({ length: slow }, (_, i) => (50 + i) * 1e6),
  ];
  return {
    offered: 100,
    durationsNs: Float64Array.from(durations),
    failed: new Uint8Array(durations.length),
  };
}

test('rule 0: the limit of a tail sampler is where the kept share below it is the same in every window', () => {
  const fit = fitTailLimit([window(0), window(10), window(20), window(40)]);
  assert.ok(fit);
  assert.ok(fit.limitNs >= 14e6 && fit.limitNs < 50e6, `${fit.limitNs}`);
  assert.ok(Math.abs(fit.keepRate - 0.1) < 0.02, `${fit.keepRate}`);
});

test('rule 0: an export that holds everything has no limit', () => {
  const whole = {
    offered: 20,
    durationsNs: Float64Array.from({ length: 20 }, (_, i) => i * 1e6),
    failed: new Uint8Array(20),
  };
  assert.equal(fitTailLimit([whole, whole, whole]), null);
});

test('rule 0: fewer than three windows say nothing', () => {
  assert.equal(fitTailLimit([window(10), window(20)]), null);
});

test('rule 0: windows without a fast request are no reason for a lower limit', () => {
  /** `offered` requests of evenly spread lengths; those beyond 400 ms are all kept, every tenth of the others is. */
  const between = (offered: number, fromMs: number, toMs: number) => {
    const all = Array.from({ length: offered }, (_, i) => fromMs + ((toMs - fromMs) * i) / offered);
    const kept = all.filter((ms, i) => ms > 400 || i % 10 === 0);
    return {
      offered,
      durationsNs: Float64Array.from(kept, (ms) => ms * 1e6),
      failed: new Uint8Array(kept.length),
    };
  };
  const fit = fitTailLimit([
    between(200, 10, 40),
    between(300, 10, 45),
    between(400, 12, 60),
    between(500, 100, 900),
    between(600, 200, 1_000),
  ]);
  assert.ok(fit);
  assert.ok(fit.limitNs >= 380e6 && fit.limitNs <= 420e6, `${fit.limitNs}`);
  assert.ok(Math.abs(fit.keepRate - 0.1) < 0.01, `${fit.keepRate}`);
});
