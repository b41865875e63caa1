import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  latencyOf,
  nearestRank,
  percentile,
  rankInterval,
  WeightedValues,
} from '../../../analyzer/src/aggregate/latency.ts';

const upTo = (n: number) => Float64Array.from({ length: n }, (_, i) => i + 1);

test('nearest rank multiplies before it divides', () => {
  // 0.07 × 100 is 7.000000000000001 in doubles: dividing first would name the eighth value.
  assert.equal(nearestRank(7_000, 100), 7);
  assert.equal(nearestRank(95_000, 20), 19);
  assert.equal(nearestRank(99_900, 1000), 999);
  assert.equal(nearestRank(99_000, 101), 100);
  assert.equal(nearestRank(50_000, 1), 1);
  assert.equal(nearestRank(0, 10), 1);
});

test('percentiles of 1..n are ceil(p n / 100), for every n up to 400', () => {
  for (let n = 1; n <= 400; n++) {
    const values = upTo(n);
    for (const p of [50, 90, 95, 99]) {
      const expected = Number((BigInt(p) * BigInt(n) + 99n) / 100n);
      assert.equal(percentile(values, p * 1000), expected, `p${p} of ${n}`);
    }
  }
});

test('a percentile of nothing is unknown', () => {
  assert.equal(percentile(new Float64Array(), 50_000), null);
  assert.deepEqual(latencyOf(new Float64Array()).p99, null);
});

test('values that are 0 count although they are not stored', () => {
  const positive = new WeightedValues([7, 5], null);
  assert.equal(positive.percentile(50_000, 8), 0);
  assert.equal(positive.percentile(90_000, 8), 5);
  assert.equal(positive.percentile(99_000, 8), 7);
  assert.equal(new WeightedValues([], null).percentile(50_000), null);
});

test('a value counts as often as its units say', () => {
  const values = new WeightedValues([30, 10, 20], [1, 96, 3]);
  assert.equal(values.units, 100);
  assert.equal(values.percentile(96_000), 10);
  assert.equal(values.percentile(97_000), 20);
  assert.equal(values.percentile(99_000), 20);
  assert.equal(values.percentile(99_900), 30);
  assert.equal(values.percentile(50_000, 100), 0);
  assert.equal(values.percentile(51_000, 100), 10);
});

test('latency keeps whole ns and an exact mean beyond 2^53', () => {
  const values = new Float64Array(4).fill(Number.MAX_SAFE_INTEGER);
  assert.equal(latencyOf(values).mean, Number.MAX_SAFE_INTEGER);
  assert.deepEqual(latencyOf(Float64Array.from([3, 1, 2, 1])), {
    n: 4,
    p50: 1,
    p90: 3,
    p95: 3,
    p99: 3,
    p999: 3,
    max: 3,
    mean: 2,
  });
});

test('250 values do not bound a p99 from above', () => {
  assert.equal(rankInterval(99_000, 250).high, null);
  // 0.99^n falls below 2.5 % from 368 values on.
  assert.equal(rankInterval(99_000, 367).high, null);
  assert.equal(rankInterval(99_000, 368).high, 368);
});

test('the rank interval covers the true percentile in 95 of 100 samples', () => {
  let state = 7;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  let covered = 0;
  const rounds = 2000;
  const n = 60;
  const { low, high } = rankInterval(50_000, n);
  for (let i = 0; i < rounds; i++) {
    const sample = Float64Array.from({ length: n }, random).sort();
    if (sample[low - 1] <= 0.5 && sample[(high ?? n) - 1] >= 0.5) covered++;
  }
  assert.ok(covered / rounds >= 0.94 && covered / rounds <= 0.985, `${covered / rounds}`);
});

test('exact and approximate intervals meet where they change over', () => {
  const exact = rankInterval(99_000, 5000);
  const approximate = rankInterval(99_000, 5001);
  assert.ok(Math.abs(exact.low - approximate.low) <= 3, `${exact.low} ${approximate.low}`);
  assert.ok(Math.abs(exact.high! - approximate.high!) <= 3, `${exact.high} ${approximate.high}`);
});
