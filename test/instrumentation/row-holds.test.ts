import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { context } from '@opentelemetry/api';
import type { Client } from 'pg';
import { ConnectionLocks, openLocks } from '../../instrumentation/src/pg/locks/connection-locks.ts';
import { DatabaseRows } from '../../instrumentation/src/pg/locks/rows.ts';
import { PlanCache } from '../../instrumentation/src/pg/sql/plan-cache.ts';
import type { PgClient } from '../../instrumentation/src/pg/types.ts';
import { bench, byId, connected, HOLD_MS, play, run, upsert, useLockBench } from './support/lock-bench.ts';
import { request } from './support/recording.ts';

useLockBench();

test('a hold lasts from the grant to the COMMIT, and is written even where nobody waited', async () => {
  const played = await play({ a: byId(30), b: byId(31) });
  const { traceA } = played;
  const [hold] = bench.recording.segment('lock_wait').filter((span) => span.traceId === traceA);
  assert.equal(hold.lengthMs, 0);
  assert.equal(hold.name, 'wait_for lock:t');
  assert.equal(hold.attributes['waitfall.resource.capacity'], 1);
  assert.equal(hold.attributes['waitfall.outcome'], 'acquired');
  const heldMs = (hold.attributes['waitfall.hold.duration_ns'] as number) / 1e6;
  const [atLeastMs, atMostMs] = played.heldMs;
  assert.ok(heldMs >= atLeastMs - 1 && heldMs <= atMostMs + 1, `${atLeastMs} <= ${heldMs} <= ${atMostMs}`);
});

test('how a refused wait ended is said, and it has no hold', async () => {
  for (const [setting, outcome, code] of [
    ["SET LOCAL lock_timeout = '25ms'", 'timeout', '55P03'],
    ["SET LOCAL statement_timeout = '25ms'", 'timeout', '57014'],
  ]) {
    const { wait } = await play({ a: byId(1), b: byId(1), beforeB: [setting], holdMs: 250 });
    assert.equal(wait?.attributes['waitfall.outcome'], outcome);
    assert.equal(wait?.attributes['error.type'], code);
    assert.equal(wait?.attributes['waitfall.hold.duration_ns'], undefined);
    assert.equal(wait?.failed, true);
  }
  const { wait } = await play({ a: byId(1), b: byId(1), isolation: 'SERIALIZABLE' });
  assert.equal(wait?.attributes['waitfall.outcome'], 'aborted');
  assert.equal(wait?.failed, false);
});

test('an advisory lock of the session is held until it is given back, beyond its transaction', async () => {
  const client = await connected();
  const { traceId } = await request(async () => {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_lock(81)');
    await client.query('COMMIT');
    await sleep(40);
    assert.equal(openLocks(), 1);
    await client.query('SELECT pg_advisory_unlock(81)');
  });
  assert.equal(openLocks(), 0);
  const [hold] = bench.recording.segment('lock_wait').filter((span) => span.traceId === traceId);
  assert.equal(hold.attributes['waitfall.resource'], 'lock:advisory');
  assert.ok((hold.attributes['waitfall.hold.duration_ns'] as number) >= 40e6 - 5e5);
  bench.recording.clear();
  await request(() => client.query('SELECT pg_advisory_lock(82)'));
  await client.end();
  assert.equal(openLocks(), 0);
  assert.equal(bench.recording.segment('lock_wait').length, 1);
});

test('a guessed parent is said to be an estimate, and never a hold', async () => {
  const { wait } = await play({
    a: ['DELETE FROM parent WHERE id = $1', [9]],
    b: ['INSERT INTO child (parent_id) VALUES ($1)', [9]],
    end: 'ROLLBACK',
  });
  assert.equal(wait?.attributes['waitfall.resource'], 'lock:parent');
  assert.equal(wait?.attributes['waitfall.estimated'], true);
  assert.equal(wait?.attributes['waitfall.hold.duration_ns'], undefined);
});

test('autocommit: estimated, no link of its own order, no hold', async () => {
  const clients = await Promise.all([connected(), connected(), connected()]);
  bench.recording.clear();
  await Promise.all(
    clients.map((client) => request(() => client.query('UPDATE t SET n = n + 1 WHERE id = $1', [33]))),
  );
  await Promise.all(clients.map((client) => client.end()));
  assert.equal(
    bench.recording.segment('lock_wait').length,
    3,
    'every visit is counted, whether it waited or not',
  );
  for (const span of bench.recording.segment('lock_wait')) {
    assert.equal(span.attributes['waitfall.estimated'], true);
    assert.equal(span.attributes['waitfall.hold.duration_ns'], undefined);
    assert.equal(span.links.length, 0);
  }
});

test('the waiter tells what its blocker ran, was doing, and for how long', async () => {
  const { wait } = await play({ a: byId(1), b: byId(1) });
  assert.equal(wait?.attributes['waitfall.blocker.statement'], 'UPDATE t');
  assert.equal(wait?.attributes['waitfall.blocker.state'], 'idle in transaction');
  assert.ok((wait?.attributes['waitfall.blocker.age_ns'] as number) > 0);
});

test('ROLLBACK TO frees its rows from its call on: the next reply may be read before its own', async () => {
  const rows = new DatabaseRows('host', 'database', undefined);
  const plans = new PlanCache();
  const client = { getTransactionStatus: () => 'T' } as unknown as PgClient;
  const [a, b] = [new ConnectionLocks(rows, false), new ConnectionLocks(rows, false)];
  const { traceId } = await request(async () => {
    const call = (locks: ConnectionLocks, text: string) => {
      const running = locks.sent(plans.get(text), [1], context.active(), 'T');
      return () => locks.replied(running, client, undefined, 1, { minMs: 0, maxMs: 0 }, 'T');
    };
    const update = 'UPDATE t SET n = n + 1 WHERE id = $1';
    for (const text of ['BEGIN', 'SAVEPOINT s1', update]) call(a, text)();
    call(b, 'BEGIN')();
    const second = call(b, update);
    await sleep(30);
    const freed = call(a, 'ROLLBACK TO SAVEPOINT s1');
    second();
    freed();
    for (const locks of [a, b]) locks.disconnected();
  });
  const spans = bench.recording.segment('lock_wait').filter((span) => span.traceId === traceId);
  assert.equal(spans.filter((span) => span.lengthMs >= 29).length, 1);
  assert.equal(openLocks(), 0);
});

test('a connection that is lost frees its locks', async () => {
  const [a, b] = await Promise.all([connected(), connected()]);
  const lost = await request(async () => {
    await a.query('BEGIN');
    await run(a, byId(35));
    await sleep(HOLD_MS);
    await a.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => {});
  });
  assert.equal(openLocks(), 0);
  const [hold] = bench.recording.segment('lock_wait').filter((span) => span.traceId === lost.traceId);
  assert.ok((hold.attributes['waitfall.hold.duration_ns'] as number) / 1e6 >= HOLD_MS - 5);
  await b.end();
});

test('keys are hashed: equal for equal rows, and no value or parameter is in any span', async () => {
  const secret = 'secret-customer-4711';
  const client = await connected();
  bench.recording.clear();
  for (let i = 0; i < 2; i++) {
    await request(async () => {
      await client.query('BEGIN');
      await run(client, upsert(secret));
      await run(client, ['SELECT * FROM counter WHERE k = $1 FOR UPDATE', [`${secret}-other`]]);
      await client.query('COMMIT');
    });
  }
  await client.end();
  const keys = bench.recording.segment('lock_wait').map((span) => span.attributes['waitfall.lock.key']);
  assert.equal(keys.length, 2);
  assert.equal(new Set(keys).size, 1);
  assert.match(String(keys[0]), /^[0-9a-f]{16}$/);
  const password = new URL(bench.url).password;
  const exported = JSON.stringify(bench.recording.spans());
  assert.ok(!exported.includes(secret), 'a parameter is in an exported span');
  assert.ok(!exported.includes(password), 'the password is in an exported span');
});

test('on a hot row the waits agree with the server', async () => {
  const workers = 8;
  const rounds = 6;
  const truthMs: number[] = [];
  const clients = await Promise.all(Array.from({ length: workers }, () => connected()));
  const text = `UPDATE t SET n = n + 1 WHERE id = $1
    RETURNING extract(epoch FROM clock_timestamp() - statement_timestamp())::float8 * 1000 AS waited`;
  const turn = (client: Client, id: number) =>
    request(async () => {
      await client.query('BEGIN');
      const { rows } = await client.query(text, [id]);
      await sleep(4);
      await client.query('COMMIT');
      return rows[0].waited as number;
    });
  await Promise.all(clients.map((client, index) => turn(client, index + 1)));
  bench.recording.clear();
  const truth = new Map<string, number>();
  await Promise.all(
    clients.map(async (client) => {
      for (let round = 0; round < rounds; round++) {
        const { traceId, value } = await turn(client, 36);
        truth.set(traceId, value);
        truthMs.push(value);
      }
    }),
  );
  await Promise.all(clients.map((client) => client.end()));
  const waits = new Map(bench.recording.segment('lock_wait').map((span) => [span.traceId, span]));
  let seen = 0;
  let contended = 0;
  const errorsMs: number[] = [];
  for (const [traceId, waitedMs] of truth) {
    if (waitedMs < 2) continue;
    contended++;
    const span = waits.get(traceId);
    if (span === undefined || span.lengthMs === 0) continue;
    seen++;
    errorsMs.push(Math.abs(span.lengthMs - waitedMs));
  }
  errorsMs.sort((a, b) => a - b);
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, value) => total + value, 0);
  const estimated = sum([...waits.values()].map((span) => span.lengthMs));
  assert.ok(contended > workers, `${contended} waits`);
  assert.ok(seen >= contended * 0.95, `${seen} of ${contended} waits seen`);
  assert.ok(errorsMs[errorsMs.length >> 1] < 5, `median error ${errorsMs[errorsMs.length >> 1]} ms`);
  const ratio = estimated / sum(truthMs);
  assert.ok(ratio > 0.8 && ratio < 1.2, `sum of waits: ${ratio} of the server's`);
  assert.equal(openLocks(), 0);
});

test('a row that is shared first and changed then is held from the change on', async () => {
  const holder = await connected();
  const other = await connected();
  // A child of a row that somebody holds seems to wait for it: from then on the row is known.
  for (const first of [
    'INSERT INTO child (parent_id) VALUES (7)',
    'SELECT n FROM parent WHERE id = 7 FOR SHARE',
  ]) {
    bench.recording.clear();
    await request(async () => {
      await other.query('BEGIN');
      await other.query('SELECT n FROM parent WHERE id = 7 FOR KEY SHARE');
      await holder.query('BEGIN');
      await holder.query(first);
      await holder.query('UPDATE parent SET n = n + 1 WHERE id = 7');
      await sleep(20);
      await holder.query('COMMIT');
      await other.query('COMMIT');
    });
    const [hold, ...more] = bench.recording
      .segment('lock_wait')
      .filter((span) => span.attributes['waitfall.hold.duration_ns'] !== undefined);
    assert.deepEqual(more, [], first);
    assert.ok(hold, `${first}: no hold`);
    assert.equal(hold.name, 'wait_for lock:parent');
    assert.ok((hold.attributes['waitfall.hold.duration_ns'] as number) >= 19e6);
  }
  await holder.end();
  await other.end();
});
