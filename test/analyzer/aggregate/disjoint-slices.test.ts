import assert from 'node:assert/strict';
import { test } from 'node:test';
import { disjointSlices } from '../../../analyzer/src/aggregate/disjoint-slices.ts';

const slice = (startNs: number, endNs: number, instance = 0) => ({
  queue: 1,
  instance,
  request: 0,
  startNs,
  endNs,
});
const shown = (slices: ReturnType<typeof slice>[]) =>
  disjointSlices(slices).map(({ startNs, endNs, instance }) => [startNs, endNs, instance]);

test('a named piece inside a slice is no work of its own', () => {
  assert.deepEqual(shown([slice(2, 8), slice(0, 10)]), [[0, 10, 0]]);
});

test('what sticks out of a slice counts from its end', () => {
  assert.deepEqual(shown([slice(0, 10), slice(6, 15), slice(20, 21)]), [
    [0, 10, 0],
    [10, 15, 0],
    [20, 21, 0],
  ]);
});

test('loops of other processes run at the same time', () => {
  assert.deepEqual(shown([slice(0, 10), slice(2, 8, 1)]), [
    [0, 10, 0],
    [2, 8, 1],
  ]);
});
