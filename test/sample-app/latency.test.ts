import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { LatencyRecorder } from '../../sample-app/src/load/latency.ts';

const near = (actual: number | null, expected: number) =>
  assert.ok(
    actual !== null && Math.abs(actual - expected) <= expected * 0.001 + 1000,
    `${actual} for ${expected}`,
  );

test('percentiles are within 0.1 % of the values, from microseconds to minutes', () => {
  const recorder = new LatencyRecorder();
  for (let index = 1; index <= 1000; index++) recorder.record(index * 1e6);
  const summary = recorder.summary();
  assert.equal(summary.n, 1000);
  near(summary.p50, 500e6);
  near(summary.p99, 990e6);
  near(summary.p999, 999e6);
  near(summary.max, 1000e6);
  near(summary.mean, 500.5e6);
});

test('without values everything is unknown, not zero', () => {
  const { p50, p99, max, mean, n } = new LatencyRecorder().summary();
  assert.deepEqual([n, p50, p99, max, mean], [0, null, null, null, null]);
});

test('a request that was given up counts, and is said to be "at least"', () => {
  const recorder = new LatencyRecorder();
  recorder.record(1e6);
  recorder.record(250e6, true);
  assert.equal(recorder.summary().atLeast, 1);
  near(recorder.summary().max, 250e6);
});

test('histograms of two generators add up', () => {
  const recorders = [new LatencyRecorder(), new LatencyRecorder()];
  for (let index = 1; index <= 100; index++) recorders[index % 2]!.record(index * 1e6);
  const [one, other] = recorders.map((recorder) => decodeFromCompressedBase64(recorder.summary().histogram));
  one!.add(other!);
  assert.equal(one!.totalCount, 100);
  near(one!.getValueAtPercentile(50) * 1000, 50e6);
});
