import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loopRate } from '../../../analyzer/src/aggregate/loop-rate.ts';
import type { Series } from '../../../analyzer/src/aggregate/series.ts';
import { frame, MS } from '../infer/sketch.ts';

const RATES = [20, 40, 60];
const BASE = { demandNs: 0, capacity: 1, hottest: null, serversByWindow: null };

/** A loop that measured this utilisation, of which requests state so much work each, ms. */
function loop(utilization: readonly number[], workMs: readonly number[] | null): Series {
  const requests = RATES.map((rate) => rate * 10);
  const ns = workMs && Float64Array.from(workMs, (ms, w) => ms * MS * requests[w]);
  return {
    measured: Float64Array.from(utilization),
    statedWork: ns && { ns, goodNs: ns, good: Float64Array.from(requests) },
  } as unknown as Series;
}

function near(actual: number | null | undefined, expected: number): void {
  assert.ok(actual != null && Math.abs(actual / expected - 1) < 1e-6, `${actual} is not ${expected}`);
}

test('rule 5: of a loop R lies between "all of its use grows with load" and "only stated work does"', () => {
  // 5 ms of work a request, and a tenth of the time nobody accounts for.
  const rate = loopRate(loop([0.2, 0.3, 0.4], [5, 5, 5]), BASE, frame(RATES));
  near(rate?.saturatesAt, 0.9 / 0.005);
  near(rate?.saturatesBetween?.low, 60 / 0.4);
  near(rate?.saturatesBetween?.high, 0.9 / 0.005);
  assert.match(rate?.how ?? '', /10 % belongs to no request/);
});

test('rule 5: work that gets cheaper with load widens the range upwards', () => {
  const rate = loopRate(loop([0.2, 0.28, 0.34], [5, 4.5, 4]), BASE, frame(RATES));
  near(rate?.saturatesBetween?.high, 0.9 / 0.004);
  assert.ok(rate!.saturatesBetween!.low < rate!.saturatesAt!);
});

test('rule 5: without stated work, the use over the rate', () => {
  const rate = loopRate(loop([0.2, 0.4, 0.6], null), BASE, frame(RATES));
  near(rate?.saturatesAt, 100);
  assert.equal(rate?.saturatesBetween, undefined);
});

test('rule 5: a hot process is full before the others', () => {
  const hottest = { instance: 'b', ratio: 1.5, alone: true };
  const rate = loopRate(loop([0.1, 0.2, 0.3], [5, 5, 5]), { ...BASE, hottest }, frame(RATES));
  near(rate?.saturatesAt, 200 / 1.5);
  near(rate?.saturatesBetween?.high, 200 / 1.5);
});

test('rule 5: a sampled export has stated work alone', () => {
  const own = { ...loop([0, 0, 0], [5, 5, 5]), measured: null } as unknown as Series;
  near(loopRate(own, BASE, frame(RATES))?.saturatesAt, 200);
});
