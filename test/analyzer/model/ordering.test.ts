import assert from 'node:assert/strict';
import { test } from 'node:test';
import { selectRank, sortByKey } from '../../../analyzer/src/model/ordering.ts';
import { seeded } from '../read/reading.ts';

const SIZES = [0, 1, 2, 15, 16, 17, 31, 33, 100, 1000, 4097];

test('indexes sorted by key are those a stable sort gives', () => {
  const random = seeded(1);
  for (const n of SIZES) {
    for (const spread of [1, 3, n, 1e12]) {
      const key = Float64Array.from({ length: n }, () => Math.floor(random() * spread));
      const indexes = Int32Array.from({ length: n }, (_, i) => i);
      const expected = [...indexes].sort((a, b) => key[a] - key[b]);
      sortByKey(indexes, key);
      assert.deepEqual([...indexes], expected, `${n} of ${spread}`);
    }
  }
});

test('what is nearly in order, or in reverse', () => {
  for (const key of [
    Float64Array.from({ length: 500 }, (_, i) => i ^ 3),
    new Float64Array(500).map((_, i) => -i),
  ]) {
    const indexes = Int32Array.from({ length: 500 }, (_, i) => i);
    sortByKey(indexes, key);
    for (let i = 1; i < 500; i++) assert.ok(key[indexes[i - 1]] <= key[indexes[i]]);
  }
});

test('the value at every rank is that of the sorted values, also after other ranks were asked for', () => {
  const random = seeded(2);
  for (const n of SIZES.slice(1, -1)) {
    for (const spread of [1, 2, n, 1e12]) {
      const values = Float64Array.from({ length: n }, () => Math.floor(random() * spread));
      const sorted = values.slice().sort();
      for (let i = 0; i < 20; i++) {
        const rank = Math.floor(random() * n);
        assert.equal(selectRank(values, rank), sorted[rank]);
      }
    }
  }
});
