import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceRow } from '../../../analyzer/src/aggregate/types.ts';
import { erlangC, meanWait, sizeQueues } from '../../../analyzer/src/infer/queue-size.ts';

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

test('queues are sized with the hold of their calmest window, locks are not sized', () => {
  const window = (arrivalsPerSecond: number, utilization: number, holdMs: number) => ({
    arrivalsPerSecond,
    utilization,
    pWait: null,
    meanWaitNs: null,
    p99WaitNs: null,
    meanHoldNs: holdMs * 1e6,
    ownHoldNs: null,
    meanQueueDepth: null,
    oldestAgeNs: null,
    rejected: 0,
    timedOut: 0,
  });
  const row = (resource: string, kind: ResourceRow['kind'], capacity: number): ResourceRow => ({
    resource,
    kind,
    scope: 'process',
    service: 'shop',
    instances: 1,
    hottestRatio: null,
    busiestKey: null,
    capacity,
    capacityFrom: 'stated',
    visitsPerRequest: 0.5,
    ownDemandNs: null,
    demandFlat: null,
    saturatesAtPerSecond: null,
    pattern: null,
    // The last window is a recovery: few arrivals, but holds still stretched.
    windows: [window(40, 0.2, 20), window(90, 0.9, 80), window(10, 0.8, 70)],
    holdComposition: [],
  });
  const [pool, lock] = sizeQueues([row('pg-pool:a', 'pool', 10), row('lock:b', 'lock', 1)], 200, 5e6);
  assert.equal(pool.meanHoldNs, 20e6);
  assert.equal(pool.offeredLoad, 2);
  assert.deepEqual(pool.ruleOfThumb, { low: 3, high: 4 });
  const servers = pool.erlangServers!;
  assert.ok(meanWait(servers, 2, 20e6)! <= 5e6);
  assert.ok(meanWait(servers - 1, 2, 20e6)! > 5e6);
  assert.deepEqual([pool.sizable, lock.sizable, lock.waitNowNs], [true, false, null]);
  const [absurd] = sizeQueues([{ ...row('c', 'pool', 1), windows: [window(1, 0.5, 1e12)] }], 100, 5e6);
  assert.equal(absurd.erlangServers, null, 'a hold of thirty years is no reason to count for hours');
  assert.deepEqual(sizeQueues([{ ...row('c', 'pool', 1), visitsPerRequest: null }], 1, 1), []);
});
