import assert from 'node:assert/strict';
import { test } from 'node:test';
import { erlangC, meanWait } from '../../../analyzer/src/infer/queue-size.ts';

test('Erlang C agrees with its sum form', () => {
  const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));
  for (const [servers, load] of [
    [1, 0.5],
    [2, 1.2],
    [8, 6.5],
    [20, 12],
  ] as const) {
    let below = 0;
    for (let k = 0; k < servers; k++) below += load ** k / factorial(k);
    const top = ((load ** servers / factorial(servers)) * servers) / (servers - load);
    assert.ok(Math.abs(erlangC(servers, load) - top / (below + top)) < 1e-12);
  }
});

test('one server at half load waits one service time on average', () => {
  assert.equal(meanWait(1, 0.5, 10e6), 10e6);
});

test('servers that cannot keep up have no mean wait', () => {
  assert.equal(meanWait(2, 2, 10e6), null);
  assert.equal(meanWait(2, 3, 10e6), null);
});
