import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PoolQueue } from '../../../instrumentation/src/runtime/thread-pool/pool-queue.ts';

test('with all threads taken, the end of one call is the beginning of the next, in order', () => {
  const pool = new PoolQueue(2);
  const [a, b, c, d] = [0, 1, 2, 3].map((ms) => pool.begin(ms, false));
  assert.deepEqual([a.begunMs, b.begunMs, c.begunMs, d.begunMs], [0, 1, undefined, undefined]);
  assert.deepEqual([c.inUse, c.queueDepth, d.queueDepth], [2, 0, 1]);
  assert.equal(pool.isFull, true);
  pool.end(b, 10);
  assert.equal(c.begunMs, 10);
  pool.end(a, 14);
  assert.equal(d.begunMs, 14);
  pool.end(c, 20);
  pool.end(d, 20);
  assert.equal(pool.isFull, false);
  assert.equal(pool.begin(30, false).begunMs, 30);
});

test('name lookups leave half of the threads to others, and are not in the way of them', () => {
  const pool = new PoolQueue(4);
  const lookups = [0, 0, 0].map((ms) => pool.begin(ms, true));
  assert.deepEqual(
    lookups.map(({ begunMs }) => begunMs),
    [0, 0, undefined],
  );
  assert.deepEqual([lookups[2].inUse, lookups[2].queueDepth], [2, 0]);
  // Behind a lookup that may not begin yet.
  assert.equal(pool.begin(1, false).begunMs, 1);
  pool.end(lookups[0], 5);
  assert.equal(lookups[2].begunMs, 5);
});

test('a call that ends before it could begin by count began when a thread was last free', () => {
  const pool = new PoolQueue(1);
  const steps = pool.begin(0, false);
  const overtaking = pool.begin(1, false);
  const second = pool.begin(2, false);
  // Between two steps of the first one its thread is free: nobody has ended since this one came.
  pool.end(overtaking, 3);
  assert.equal(overtaking.begunMs, 1);
  pool.end(second, 4);
  assert.equal(second.begunMs, 3, 'behind the one before it');
  const next = pool.begin(5, false);
  assert.equal(next.queueDepth, 0);
  pool.end(steps, 6);
  assert.equal(next.begunMs, 6);
});
