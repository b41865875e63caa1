import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallList } from '../../../analyzer/src/aggregate/call-list.ts';
import { drifts } from '../../../analyzer/src/aggregate/cost-drift.ts';
import type { Requests } from '../../../analyzer/src/aggregate/requests-types.ts';

const N = 900;

/** Long calls of 20 ms and short ones of 0.2 ms in turn; what they take from the first to the last, as a multiple. */
function driftOf(longTimes: (progress: number) => number, shortTimes: (progress: number) => number) {
  const calls = new CallList();
  const costNs = new Float64Array(N);
  for (let i = 0; i < N; i++) {
    const long = i % 2 === 0;
    const scatter = 0.8 + ((i * 7919) % 400) / 1000;
    costNs[i] = long ? 20e6 : 0.2e6;
    const durationNs = costNs[i] * scatter * (long ? longTimes(i / N) : shortTimes(i / N));
    const startNs = i * 1e8;
    calls.push({
      queue: 0,
      request: i,
      row: i,
      startNs,
      endNs: startNs + durationNs,
      durationNs,
      operation: long ? 1 : 2,
      failed: false,
    });
  }
  const requests = { window: new Int32Array(N) } as unknown as Requests;
  return drifts(calls, new Int32Array(N), requests, costNs).get(0) ?? null;
}

const steady = () => 1;

test('rule 3: a server whose calls get slower over the run drifts', () => {
  const drift = driftOf(
    (t) => 1 + t,
    (t) => 1 + t,
  );
  assert.ok(drift !== null);
  // Twice the cost after 90 s, seen from the middle: two thirds of its mean.
  assert.ok(Math.abs(drift.perNs * N * 1e8 - 2 / 3) < 0.1, `${drift.perNs * N * 1e8}`);
});

test('rule 3: short calls that get slower in a busy process are no drift of the server', () => {
  assert.equal(
    driftOf(steady, (t) => 1 + 2 * t),
    null,
  );
});

test('rule 3: steady calls do not drift', () => {
  assert.equal(driftOf(steady, steady), null);
});
