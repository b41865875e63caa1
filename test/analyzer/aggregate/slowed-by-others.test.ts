import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallList } from '../../../analyzer/src/aggregate/call-list.ts';
import { slowedByOthers } from '../../../analyzer/src/aggregate/slowed-by-others.ts';

/** Calls of 10 ms at low load, which took so long by how many others they found. */
function calls(n: number, durationMs: (others: number, i: number) => number): boolean {
  const list = new CallList();
  const ahead = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    ahead[i] = i % 8;
    const startNs = i * 1e7;
    const durationNs = durationMs(ahead[i], i) * 1e6;
    list.push({
      queue: 0,
      request: i,
      row: i,
      startNs,
      endNs: startNs + durationNs,
      durationNs,
      operation: 0,
      failed: false,
    });
  }
  const members = Int32Array.from({ length: n }, (_, i) => i);
  return slowedByOthers(members, list, ahead, new Float64Array(n).fill(10e6));
}

/** Scatters between half and one and a half, the same for every number of others. */
const scatter = (i: number) => 0.5 + ((i * 7919) % 1000) / 1000;

test('rule 3: calls that take longer the more others they find stand in a queue', () => {
  assert.equal(
    calls(800, (others, i) => 10 * scatter(i) * Math.max(1, (others + 1) / 4)),
    true,
  );
});

test('rule 3: calls that scatter alike whatever they find do not, even where all are slower than at low load', () => {
  assert.equal(
    calls(800, (_, i) => 10 * scatter(i)),
    false,
  );
  assert.equal(
    calls(800, (_, i) => 14 * scatter(i)),
    false,
  );
});

test('rule 3: a few per cent more are no queue', () => {
  assert.equal(
    calls(8000, (others, i) => 10 * scatter(i) * (1 + 0.01 * others)),
    false,
  );
});

test('rule 3: too few calls to tell keep the benefit of the doubt', () => {
  assert.equal(
    calls(40, () => 10),
    true,
  );
});
