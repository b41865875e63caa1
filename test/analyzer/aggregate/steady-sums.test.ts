import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SteadySums } from '../../../analyzer/src/aggregate/steady-sums.ts';

const addend = fc.record({
  key: fc.nat({ max: 3 }),
  request: fc.nat({ max: 20 }),
  window: fc.nat({ max: 2 }),
  value: fc.oneof(
    fc.double({ min: -1e12, max: 1e12, noNaN: true }),
    fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }),
  ),
});

const inOrder = (list: readonly { request: number }[]) => list.map(({ request }) => request);

test('sums and their order are the same in whatever order the requests come', () => {
  fc.assert(
    fc.property(fc.array(addend, { maxLength: 60 }), fc.nat(), (list, seed) => {
      const byRequest = Map.groupBy(list, ({ request }) => request);
      const some = [...byRequest.values()].sort(
        (a, b) => ((a[0].request * 7 + seed) % 13) - ((b[0].request * 7 + seed) % 13),
      );
      const rising = [...byRequest.values()].sort((a, b) => a[0].request - b[0].request);
      const [one, other] = [some, rising].map((groups) => {
        const sums = new SteadySums<number>(3);
        for (const { key, request, window, value } of groups.flat()) sums.add(key, request, window, value);
        return [...sums.sums()].map(([key, own]) => [key, [...own]]);
      });
      assert.deepEqual(one, other, inOrder(list).join());
    }),
  );
});

test('whole numbers are summed exactly, fractions to 2^-33 each', () => {
  fc.assert(
    fc.property(fc.array(addend, { maxLength: 60 }), (list) => {
      const sums = new SteadySums<number>(3);
      for (const { key, request, window, value } of list) sums.add(key, request, window, value);
      for (const [key, own] of sums.sums()) {
        for (const [w, sum] of own.entries()) {
          const mine = list.filter((one) => one.key === key && one.window === w).map(({ value }) => value);
          // The largest first: what rounds off is least.
          const wanted = mine.sort((a, b) => Math.abs(a) - Math.abs(b)).reduce((a, b) => a + b, 0);
          const size = mine.reduce((all, value) => Math.max(all, Math.abs(value)), 0);
          assert.ok(Math.abs(sum - wanted) <= list.length * (2 ** -33 + size * 2 ** -52));
          if (mine.every(Number.isInteger)) assert.equal(sum, wanted);
        }
      }
    }),
  );
});

test('the fractions of millions of addends are carried over', () => {
  const sums = new SteadySums<string>(1);
  for (let i = 0; i < 1_200_000; i++) sums.add('half', i, 0, 1e9 + 0.75);
  assert.equal(sums.sums().get('half')?.[0], 1_200_000 * (1e9 + 0.75));
});
