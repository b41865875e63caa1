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

/** Windows of one second in which so many servers of each instance were busy on average. */
function capacity(queue: Queue, ...busy: number[][]) {
  const lanes = busy.map((servers) => {
    const lane = emptyLane(servers.length);
    lane.busyNs.set(servers.map((n) => n * 1e9));
    return lane;
  });
  const windows = busy[0].map((_, w) => ({ startNs: w * 1e9, endNs: (w + 1) * 1e9 }));
  return capacityOf(queue, lanes[0], false, { windows } as unknown as Timeline, lanes);
}

test('an inferred capacity is never less than the servers that were busy on average', () => {
  const sampled = capacity(pool([null], [1]), [1.5, 3.8, 5.2]);
  assert.deepEqual([sampled.servers, sampled.byInstance, sampled.from], [5, [5], 'inferred']);
  const two = capacity(pool([null, null], [1, 4]), [1, 2.7], [1, 3.9]);
  assert.deepEqual([two.servers, two.byInstance], [7, [3, 4]]);
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
