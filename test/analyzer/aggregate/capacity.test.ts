import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Queue } from '../../../analyzer/src/aggregate/activity.ts';
import { capacityOf } from '../../../analyzer/src/aggregate/capacity.ts';
import { emptyLane } from '../../../analyzer/src/aggregate/series.ts';
import type { Timeline } from '../../../analyzer/src/aggregate/windows.ts';

const pool = (stated: (number | null)[], queuedInUse: number[], maxInUse = queuedInUse) =>
  ({
    name: 'pg-pool:orders',
    kind: 'pool',
    instances: stated.map((_, i) => `i${i}`),
    statedCapacity: stated,
    queuedInUse,
    maxInUse,
    holdsRebuilt: false,
  }) as unknown as Queue;

/** Windows of one second in which so many servers were busy on average. */
function capacity(queue: Queue, busy: number[]) {
  const lane = emptyLane(busy.length);
  for (const [w, servers] of busy.entries()) lane.busyNs[w] = servers * 1e9;
  const windows = busy.map((_, w) => ({ startNs: w * 1e9, endNs: (w + 1) * 1e9 }));
  return capacityOf(queue, lane, false, { windows } as unknown as Timeline);
}

test('an inferred capacity is never less than the servers that were busy on average', () => {
  const sampled = capacity(pool([null], [1]), [1.5, 3.8, 5.2]);
  assert.deepEqual([sampled.servers, sampled.byInstance, sampled.from], [5, [5], 'inferred']);
  const two = capacity(pool([null, null], [1, 1]), [2, 7.7]);
  assert.deepEqual([two.servers, two.byInstance], [8, [4, 4]]);
});

test('an inferred capacity that fits the busy time stays, also within the noise of the weights', () => {
  assert.equal(capacity(pool([null], [5]), [1, 4.9]).servers, 5);
  assert.equal(capacity(pool([null], [5]), [1, 5.3]).servers, 5);
});

test('a stated capacity is kept, and one that more servers contradict is said to be wrong', () => {
  assert.equal(capacity(pool([5], [3]), [1, 2]).servers, 5);
  const wrong = capacity(pool([5], [8], [8]), [1, 7]);
  assert.equal(wrong.servers, 8);
  assert.match(wrong.contradiction!, /states capacity 5, yet 8 were in use/);
});
