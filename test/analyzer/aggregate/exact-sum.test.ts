import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { apportionedMeans, ExactSum, ratio, roundedMean } from '../../../analyzer/src/aggregate/exact-sum.ts';

const values = fc.array(fc.nat({ max: Number.MAX_SAFE_INTEGER }), { maxLength: 50 });

test('sums are those of bigint arithmetic', () => {
  fc.assert(
    fc.property(values, (list) => {
      const sum = new ExactSum();
      for (const value of list) sum.add(value);
      assert.equal(
        sum.total,
        list.reduce((all, value) => all + BigInt(value), 0n),
      );
    }),
  );
});

test('apportioned means add up to the rounded mean of the whole and are off by less than one', () => {
  const totals = fc.array(fc.bigInt({ min: 0n, max: 1n << 60n }), { maxLength: 12 });
  fc.assert(
    fc.property(totals, fc.integer({ min: 1, max: 1000 }), (list, count) => {
      const means = apportionedMeans(list, count);
      const whole = list.reduce((all, value) => all + value, 0n);
      if (whole / BigInt(count) > BigInt(Number.MAX_SAFE_INTEGER)) return;
      assert.equal(
        means.reduce((all, mean) => all + mean, 0),
        roundedMean(whole, count),
      );
      for (const [i, mean] of means.entries()) {
        const low = Number(list[i] / BigInt(count));
        assert.ok(mean === low || mean === low + 1);
      }
    }),
  );
});

test('a ratio of huge sums keeps its digits', () => {
  assert.equal(ratio(1n << 80n, 1n << 81n), 0.5);
  assert.equal(ratio(5n, 0n), 0);
});
