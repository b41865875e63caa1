import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { openLocks } from '../../instrumentation/src/pg/locks/connection-locks.ts';
import { bench, byId, connected, HOLD_MS, play, run, useLockBench } from './support/lock-bench.ts';
import { type Recorded, request } from './support/recording.ts';

useLockBench();

const heldMs = (span: Recorded) => (span.attributes['waitfall.hold.duration_ns'] as number) / 1e6;

async function terminate(client: Client): Promise<void> {
  const other = await connected();
  const { processID } = client as unknown as { processID: number };
  await other.query('SELECT pg_terminate_backend($1)', [processID]);
  await other.end();
}

const DEATHS: Record<string, (holder: Client) => Promise<unknown>> = {
  'while it is idle in its transaction': async (holder) => {
    const died = new Promise((resolve) => holder.once('end', resolve));
    await terminate(holder);
    await died;
  },
  'while a statement of it runs': async (holder) => {
    const running = holder.query('SELECT pg_sleep(20)').catch((error: { code?: string }) => error.code);
    await sleep(10);
    await terminate(holder);
    assert.equal(await running, '57P01');
  },
  'after a savepoint, while a statement of it runs': async (holder) => {
    await holder.query('SAVEPOINT s');
    const running = holder.query('SELECT pg_sleep(20)').catch(() => {});
    await sleep(10);
    await terminate(holder);
    await running;
  },
  'by its own timeout': async (holder) => {
    const died = new Promise((resolve) => holder.once('end', resolve));
    await holder.query("SET LOCAL idle_in_transaction_session_timeout = '30ms'");
    await died;
  },
};

for (const [how, die] of Object.entries(DEATHS)) {
  test(`a holder that dies ${how}: its row is free, and who waited for it did`, async () => {
    // More often than a key is given up for: that two had the row at once was never so.
    for (let round = 0; round < 4; round++) {
      bench.recording.clear();
      const [holder, waiter] = await Promise.all([connected(), connected()]);
      await Promise.all([holder, waiter].map((client) => client.query('SELECT count(*) FROM t')));
      let sentMs = 0;
      let waitedMs = 0;
      let calledMs = 0;
      let lockedMs = 0;
      let dyingMs = 0;
      let diedMs = 0;
      const locked = Promise.withResolvers<void>();
      const [lost, waited] = await Promise.all([
        request(async () => {
          await holder.query('BEGIN');
          calledMs = performance.now();
          await run(holder, byId(35));
          lockedMs = performance.now();
          locked.resolve();
          await sleep(HOLD_MS);
          dyingMs = performance.now();
          await die(holder);
          diedMs = performance.now();
        }),
        request(async () => {
          await locked.promise;
          await waiter.query('BEGIN');
          sentMs = performance.now();
          await run(waiter, byId(35));
          waitedMs = performance.now() - sentMs;
          await waiter.query('COMMIT');
        }),
      ]);
      await waiter.end();
      await holder.end().catch(() => {});
      assert.equal(openLocks(), 0, 'locks that are still open');
      const of = (traceId: string) =>
        bench.recording.segment('lock_wait').filter((span) => span.traceId === traceId);
      const [hold] = of(lost.traceId);
      const ms = heldMs(hold);
      assert.ok(ms >= dyingMs - lockedMs - 1 && ms <= diedMs - calledMs + 1, `held ${ms} ms`);
      const [wait] = of(waited.traceId);
      assert.ok(
        wait.lengthMs >= (dyingMs - sentMs) * 0.8 - 2 && wait.lengthMs <= waitedMs + 1,
        `${wait.lengthMs} ms of ${waitedMs} ms`,
      );
      assert.equal(wait.links[0]?.traceId, lost.traceId, 'the trace of the holder');
    }
  });
}

test('a waiter that dies waited until then, and got nothing', async () => {
  const [holder, waiter] = await Promise.all([connected(), connected()]);
  await request(async () => {
    await holder.query('BEGIN');
    await run(holder, byId(34));
    const { traceId } = await request(async () => {
      await waiter.query('BEGIN');
      const waiting = run(waiter, byId(34)).catch(() => {});
      // As long as it takes to arrive.
      await sleep(HOLD_MS);
      await terminate(waiter);
      await waiting;
    });
    const [wait] = bench.recording.segment('lock_wait').filter((span) => span.traceId === traceId);
    assert.ok(wait.lengthMs > HOLD_MS - 10);
    assert.equal(wait.attributes['waitfall.outcome'], 'aborted');
    assert.equal(wait.attributes['waitfall.hold.duration_ns'], undefined);
    await holder.query('COMMIT');
  });
  await holder.end();
  await waiter.end().catch(() => {});
  assert.equal(openLocks(), 0);
});

test('a query object is a statement like others: it takes rows, and its COMMIT gives them back', async () => {
  const { Query } = createRequire(import.meta.url)('pg') as typeof import('pg');
  const client = await connected();
  const submit = (text: string, values?: unknown[]) =>
    new Promise<void>((resolve, reject) => {
      const query = client.query(new Query(text, values));
      query.on('end', () => resolve());
      query.on('error', reject);
    });
  let bounds = [0, 0];
  let heldOnMs = 0;
  const { traceId } = await request(async () => {
    await client.query('BEGIN');
    const calledMs = performance.now();
    await submit('UPDATE t SET n = n + 1 WHERE id = $1', [32]);
    assert.equal(openLocks(), 1);
    const lockedMs = performance.now();
    await sleep(HOLD_MS);
    const endMs = performance.now();
    await submit('COMMIT');
    bounds = [endMs - lockedMs, performance.now() - calledMs];
    assert.equal(openLocks(), 0);
    await sleep(HOLD_MS);
    await client.query('BEGIN');
    await assert.rejects(submit('UPDATE t SET n = 1 / 0 WHERE id = $1', [31]));
    await client.query('ROLLBACK');
    // What the client refuses never reaches the server, and does not stand in the way of what comes after it.
    await assert.rejects(submit('UPDATE t SET n = 1 WHERE id = $1', 31 as never), /must be an array/);
    await client.query('BEGIN');
    await submit('UPDATE t SET n = n + 1 WHERE id = $1', [30]);
    assert.equal(openLocks(), 1);
    const takenMs = performance.now();
    await sleep(HOLD_MS);
    heldOnMs = performance.now() - takenMs;
    await submit('COMMIT');
    assert.equal(openLocks(), 0);
  });
  await client.end();
  const [hold, last] = bench.recording.segment('lock_wait').filter((span) => span.traceId === traceId);
  assert.ok(heldMs(last) >= heldOnMs - 1, `${heldMs(last)} of ${heldOnMs} ms`);
  assert.ok(heldMs(hold) >= bounds[0] - 1 && heldMs(hold) <= bounds[1] + 1, `${heldMs(hold)} ms`);
});

test('rows that a list or a queue may or may not have taken spoil no key', async () => {
  const doubtful = [
    // Takes one of two.
    'SELECT id FROM t WHERE id IN (28, 29) ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED',
    // 28 % 3 = 1, 29 % 3 = 2
    'UPDATE t SET n = n + 1 WHERE id IN (28, 29) AND grp = 1',
    'UPDATE t SET n = n + 1 WHERE grp = 0 AND id = (SELECT min(id) FROM t WHERE grp = 0)',
  ];
  const others = [
    'SELECT id FROM t WHERE id IN (28, 29) ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED',
    'UPDATE t SET n = n + 1 WHERE id = 29',
    'UPDATE t SET n = n + 1 WHERE grp = 0 AND id = (SELECT max(id) FROM t WHERE grp = 0)',
  ];
  for (let round = 0; round < 4; round++) {
    for (const [i, a] of doubtful.entries()) {
      const { wait, realMs } = await play({ a, b: others[i], holdMs: 2_000, untilAnswered: true });
      assert.ok(realMs < 2_000);
      assert.equal(wait, undefined);
    }
  }
  const { wait } = await play({ a: byId(28), b: byId(28) });
  assert.ok(wait, 'the key is still believed');
});

test('a statement that its own client gives up waited until then', async () => {
  const [holder, waiter] = await Promise.all([connected(), connected()]);
  let waitedMs = 0;
  const { traceId: held } = await request(async () => {
    await holder.query('BEGIN');
    await run(holder, byId(33));
  });
  const { traceId } = await request(async () => {
    await waiter.query('BEGIN');
    const sentMs = performance.now();
    const text = 'UPDATE t SET n = n + 1 WHERE id = 33';
    await assert.rejects(waiter.query({ text, query_timeout: HOLD_MS } as never), /timeout/);
    waitedMs = performance.now() - sentMs;
  });
  await waiter.end();
  await holder.query('COMMIT');
  await holder.end();
  const [wait] = bench.recording.segment('lock_wait').filter((span) => span.traceId === traceId);
  assert.ok(wait, 'a lock_wait span');
  assert.ok(wait.lengthMs > HOLD_MS - 3 && wait.lengthMs <= waitedMs + 0.5, `${wait.lengthMs}, ${waitedMs}`);
  assert.equal(wait.attributes['waitfall.outcome'], 'timeout');
  assert.equal(wait.attributes['error.type'], 'timeout');
  assert.equal(wait.links[0]?.traceId, held);
  assert.equal(openLocks(), 0);
});
