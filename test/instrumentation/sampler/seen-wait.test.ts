import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Activity, spanOf, waitEventOf } from '../../../instrumentation/src/pg/sampler/activity.ts';
import type { ActivityRow } from '../../../instrumentation/src/pg/sampler/lock-query.ts';
import { estimateWait } from '../../../instrumentation/src/pg/sampler/seen-wait.ts';
import { ServerClock } from '../../../instrumentation/src/pg/sampler/server-clock.ts';

test('a wait from the first look to the reply lasts from the call to the reply, less the work', () => {
  const seen = { notYetMs: undefined, waitStartMs: 90, firstSeenMs: 100, lastSeenMs: 180, overMs: undefined };
  assert.deepEqual(estimateWait(seen, 80, 200, 2), { startMs: 80, endMs: 198, minMs: 90, maxMs: 120 });
});

test('a wait that begins between two looks begins when the server says', () => {
  const seen = { notYetMs: 100, waitStartMs: 112, firstSeenMs: 125, lastSeenMs: 150, overMs: undefined };
  assert.deepEqual(estimateWait(seen, 10, 160, 0), { startMs: 112, endMs: 160, minMs: 38, maxMs: 60 });
});

test('a wait that is over before the reply ends between the looks on both sides', () => {
  const seen = { notYetMs: 100, waitStartMs: undefined, firstSeenMs: 125, lastSeenMs: 150, overMs: 175 };
  assert.deepEqual(estimateWait(seen, 10, 400, 0), { startMs: 125, endMs: 162.5, minMs: 25, maxMs: 75 });
});

test('a statement that needs a millisecond by itself was not at work when a look found it not waiting', () => {
  const seen = { notYetMs: 100, waitStartMs: 112, firstSeenMs: 125, lastSeenMs: 150, overMs: 175 };
  assert.deepEqual(estimateWait(seen, 10, 200, 1), { startMs: 10, endMs: 199, minMs: 38, maxMs: 190 });
});

test('an estimate lies within its bounds, whatever the clocks say', () => {
  for (const waitStartMs of [undefined, 0, 99, 130, 500]) {
    for (const notYetMs of [undefined, 60, 110]) {
      for (const overMs of [undefined, 170]) {
        for (const answeredMs of [140, 180]) {
          const seen = { notYetMs, waitStartMs, firstSeenMs: 120, lastSeenMs: 140, overMs };
          const { startMs, endMs, minMs, maxMs } = estimateWait(seen, 50, answeredMs, 3);
          const lengthMs = endMs - startMs;
          assert.ok(startMs >= 50 && endMs <= Math.max(140, answeredMs));
          assert.ok(
            minMs <= lengthMs + 1e-9 && lengthMs <= maxMs + 1e-9,
            `${minMs} <= ${lengthMs} <= ${maxMs}`,
          );
        }
      }
    }
  }
});

test('the server clock follows the shortest round trip', () => {
  const clock = new ServerClock();
  clock.observe(100, 120, 5_000);
  assert.equal(clock.toMonotonicMs(5_000), 110);
  clock.observe(200, 201, 5_095);
  assert.equal(clock.toMonotonicMs(5_095), 200.5);
  clock.observe(300, 350, 5_300);
  assert.equal(clock.toMonotonicMs(5_095), 200.5);
  // A minute later even a worse one counts.
  clock.observe(100_000, 100_010, 104_000);
  assert.equal(clock.toMonotonicMs(104_000), 100_005);
});

const row = (pid: number, blockers: number[] | null, more: Partial<ActivityRow> = {}): ActivityRow => ({
  pid,
  blockers,
  state: 'active',
  wait_event_type: null,
  wait_event: null,
  query: 'SELECT 1',
  application_name: '',
  query_start_ms: 0,
  xact_start_ms: 0,
  locktype: blockers === null ? null : 'tuple',
  mode: null,
  relation: null,
  wait_start_ms: null,
  clock_ms: 0,
  ...more,
});

test('root holders: behind a queue, behind two holders, in a deadlock, one that is gone already', () => {
  const chain = new Activity([row(1, null), row(2, [1]), row(3, [2, 1]), row(4, [3, 2, 1])]);
  assert.deepEqual(chain.rootHolders(4), [1]);
  const shared = new Activity([row(1, null), row(2, null), row(3, [1, 2])]);
  assert.deepEqual(shared.rootHolders(3).sort(), [1, 2]);
  assert.deepEqual(new Activity([row(1, [2]), row(2, [1])]).rootHolders(1), []);
  assert.deepEqual(new Activity([row(1, [99])]).rootHolders(1), [99]);
  assert.deepEqual(new Activity([row(1, [0])]).rootHolders(1), [0], 'a prepared transaction');
});

test('wait events in few words, WALSync by both its spellings', () => {
  assert.equal(waitEventOf(row(1, null)), 'CPU');
  assert.equal(waitEventOf(row(1, null, { state: 'idle in transaction' })), 'ClientRead');
  for (const wait_event of ['WALSync', 'WalSync']) {
    assert.equal(waitEventOf(row(1, null, { wait_event_type: 'IO', wait_event })), 'WALSync');
  }
  const [wait_event_type, wait_event] = ['LWLock', 'BufferMapping'];
  assert.equal(waitEventOf(row(1, null, { wait_event_type, wait_event })), 'LWLock:BufferMapping');
});

test('spans of other processes: by comment, by application name, sampled ones only', () => {
  const [traceId, spanId] = ['a'.repeat(32), 'b'.repeat(16)];
  const span = (flags: string) => `00-${traceId}-${spanId}-${flags}`;
  assert.equal(spanOf(row(1, null, { query: `SELECT 1 /*traceparent='${span('01')}'*/` }))?.spanId, spanId);
  assert.equal(spanOf(row(1, null, { application_name: span('01') }))?.traceId, traceId);
  assert.equal(spanOf(row(1, null, { query: `SELECT 1 /*traceparent='${span('00')}'*/` })), undefined);
  assert.equal(spanOf(row(1, null, { query: `SELECT '${traceId}'` })), undefined);
  assert.equal(spanOf(row(1, null, { query: null })), undefined);
});
