import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type Postgres from 'postgres';
import { openSlots } from '../../../instrumentation/src/adapters/slot-wait.ts';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';
import {
  assertMeasured,
  attribute,
  fourThroughTwo,
  freeIsNoWait,
  holdMs,
  none,
  one,
  timed,
} from './measured.ts';

const require = createRequire(import.meta.url);
let recording: Recording;
let database: Database;
let postgres: typeof Postgres;

before(async () => {
  recording = startRecording({ official: false });
  postgres = require('postgres');
  database = await openDatabase();
});
after(async () => {
  await database?.close();
  await recording?.stop();
});
beforeEach(() => recording.clear());

/** An option the library's types do not name. */
const ONE_AHEAD = { max_pipeline: 1 };

const open = (options: object = {}) =>
  postgres(database.url, { max: 2, fetch_types: false, ...ONE_AHEAD, ...options });

test('postgres: queries wait for connections as long as the caller sees', async () => {
  await timed(recording, async () => {
    const sql = open({ connection: { application_name: 'shop' } });
    try {
      await fourQueries(sql);
    } finally {
      await sql.end();
    }
  });
});

async function fourQueries(sql: ReturnType<typeof open>): Promise<void> {
  const visits = await Promise.all(
    [0, 1, 2, 3].map(async () => {
      let [calledMs, gotMs] = [0, 0];
      const { traceId } = await request(async () => {
        calledMs = performance.now();
        await sql`SELECT pg_sleep(0.06)`;
        gotMs = performance.now();
      });
      return { traceId, aroundMs: gotMs - calledMs };
    }),
  );
  assert.equal(openSlots(), 0);
  const waits = visits.map(({ traceId, aroundMs }) => ({
    pool: one(recording, 'pool_wait', traceId),
    connection: recording.segment('connection_wait').find((span) => span.traceId === traceId),
    aroundMs,
  }));
  for (const { pool, connection, aroundMs } of waits) {
    assert.equal(pool.name, 'wait_for postgres-pool:shop');
    assert.equal(attribute(pool, 'resource.capacity'), 2);
    const recordedMs = pool.lengthMs + holdMs(pool);
    assertMeasured(recordedMs, aroundMs, 'wait and hold');
    assert.ok(holdMs(pool) >= 58, `${holdMs(pool)} ms held by a statement of 60 ms`);
    if (connection !== undefined) assert.equal(pool.lengthMs, 0);
  }
  assert.equal(waits.filter(({ connection }) => connection !== undefined).length, 2);
  const behind = waits.filter(({ connection }) => connection === undefined);
  for (const { pool } of behind) assert.ok(pool.lengthMs >= 55, `${pool.lengthMs} ms behind 60 ms`);
}

test('postgres: a free connection is no wait; an error ends the hold', async () => {
  const sql = open({ max: 1 });
  await sql`SELECT 1`;
  recording.clear();
  const { traceId } = await request(async () => {
    await assert.rejects(async () => sql`SELECT * FROM nowhere`, { code: '42P01' });
  });
  const wait = one(recording, 'pool_wait', traceId);
  assert.ok(wait.lengthMs < 20);
  none(recording, 'connection_wait', traceId);
  assert.equal(openSlots(), 0);
  await sql.end();
});

test('postgres: a transaction holds its connection to its end, also when it fails', () =>
  timed(recording, heldByTransaction));

async function heldByTransaction(): Promise<void> {
  const sql = open({ max: 1 });
  try {
    await sql`SELECT 1`;
    recording.clear();
    let heldMs = 0;
    const calledMs = performance.now();
    const transaction = request(() =>
      sql.begin(async (tx) => {
        await tx`SELECT 1`;
        await sleep(60);
        await tx`SELECT 2`;
        return 'done';
      }),
    ).then((done) => {
      // From BEGIN to the reply of COMMIT.
      heldMs = performance.now() - calledMs;
      return done;
    });
    await sleep(10);
    const waiting = request(async () => sql`SELECT 3`);
    const [{ traceId, value }, second] = await Promise.all([transaction, waiting]);
    assert.equal(value, 'done');
    const held = one(recording, 'pool_wait', traceId);
    assertMeasured(holdMs(held), heldMs, 'hold');
    assert.ok(one(recording, 'pool_wait', second.traceId).lengthMs >= 45);

    await assert.rejects(
      sql.begin(async () => {
        throw new RangeError('no');
      }),
      RangeError,
    );
    assert.equal(openSlots(), 0);
  } finally {
    await sql.end();
  }
}

test('postgres: reserved connections are waited for and held like those of any pool', async () => {
  const sql = open();
  const pool = {
    acquire: () => sql.reserve(),
    release: (reserved: Postgres.ReservedSql) => reserved.release(),
  };
  await sql`SELECT 1`;
  recording.clear();
  const visits = await Promise.all([1, 2, 3, 4].map(() => fourOf(pool)));
  assert.equal(openSlots(), 0);
  const longest = Math.max(...visits.map(({ traceId }) => one(recording, 'pool_wait', traceId).lengthMs));
  assert.ok(longest >= 30, `${longest} ms`);
  await sql.end();

  async function fourOf(of: typeof pool) {
    return request(async () => {
      const reserved = await of.acquire();
      await reserved`SELECT 1`;
      await sleep(40);
      of.release(reserved);
    });
  }
});

test('postgres: what is cancelled in the queue is aborted, a server that is not there refuses', async () => {
  const sql = open({ max: 1 });
  await sql`SELECT 1`;
  // The connection takes one more ahead of time; what comes then stays in the queue.
  const first = Promise.all([sql`SELECT pg_sleep(0.5)`, sql`SELECT 1`]);
  const cancelled = await request(async () => {
    const query = sql`SELECT 1`;
    const rejected = assert.rejects(async () => query, { code: '57014' });
    await sleep(5);
    query.cancel();
    await rejected;
  });
  await first;
  assert.equal(attribute(one(recording, 'pool_wait', cancelled.traceId), 'outcome'), 'aborted');
  await sql.end();

  const nowhere = postgres('postgres://127.0.0.1:1/none', { max: 1, fetch_types: false });
  const refused = await request(() =>
    assert.rejects(async () => nowhere`SELECT 1`, { code: 'ECONNREFUSED' }),
  );
  assert.equal(attribute(one(recording, 'connection_wait', refused.traceId), 'outcome'), 'rejected');
  await nowhere.end({ timeout: 0 });
  assert.equal(openSlots(), 0);
});

test('postgres: results, cursors, streams and the properties of queries are those of the library', async () => {
  const sql = open({ fetch_types: true, max_pipeline: 100 });
  const query = sql`SELECT generate_series(1, 3) AS n`;
  assert.equal(query.constructor.name, 'Query');
  const keys = Object.keys(query);
  const rows = await query;
  assert.deepEqual([...rows], [{ n: 1 }, { n: 2 }, { n: 3 }]);
  assert.deepEqual(
    Object.keys(query).filter((key) => keys.includes(key)),
    keys,
  );
  assert.equal((query as unknown as { active: boolean }).active, false);
  const seen: number[] = [];
  for await (const [row] of sql`SELECT generate_series(1, 3) AS n`.cursor(1)) seen.push(row.n);
  await sql`SELECT generate_series(4, 5) AS n`.forEach((row) => void seen.push(row.n));
  assert.deepEqual(seen, [1, 2, 3, 4, 5]);
  const many = await Promise.all(Array.from({ length: 10 }, (_, n) => sql`SELECT ${n}::int AS n`));
  assert.deepEqual(
    many.map(([row]) => row.n),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  assert.equal(postgres.camel.column.from?.('a_b' as never), 'aB');
  await sql.end();
  assert.equal(openSlots(), 0);
});

test('postgres: statements are time downstream, in transactions too', async () => {
  const sql = open({ max: 1 });
  await sql`SELECT 1`;
  recording.clear();
  let tookMs = 0;
  const { traceId } = await request(() =>
    sql.begin(async (tx) => {
      const startedMs = performance.now();
      await tx`SELECT pg_sleep(${0.05})`;
      tookMs = performance.now() - startedMs;
      await assert.rejects(tx.savepoint((inner) => inner`SELECT * FROM nowhere`));
    }),
  );
  const statements = recording.segment('downstream').filter((span) => span.traceId === traceId);
  assert.deepEqual(
    statements.map((span) => span.name),
    ['BEGIN', 'SELECT', 'SAVEPOINT', 'SELECT', 'ROLLBACK', 'COMMIT'].map((name) => `postgres.query:${name}`),
  );
  const { hostname, port } = new URL(database.url);
  for (const span of statements) assert.equal(attribute(span, 'resource'), `${hostname}:${port}`);
  assertMeasured(statements[1].lengthMs, tookMs, 'statement');
  await sql.end();
});

test('knex: its pool is named by its database, waits as tarn does', () => timed(recording, knexAsTarn));

async function knexAsTarn(): Promise<void> {
  const knex = require('knex')({
    client: 'pg',
    connection: { connectionString: database.url, application_name: 'orders' },
    pool: { min: 0, max: 2 },
  });
  const pool = {
    acquire: () => knex.client.acquireConnection(),
    release: (connection: unknown) => knex.client.releaseConnection(connection),
  };
  try {
    await fourThroughTwo(recording, pool, 'knex-pool:orders');
    recording.clear();
    await freeIsNoWait(recording, pool);
    recording.clear();
    const { traceId, value } = await request(() =>
      knex.transaction(async (trx: typeof knex) => {
        await sleep(20);
        return trx.select(knex.raw('1 AS one'));
      }),
    );
    assert.deepEqual(value, [{ one: 1 }]);
    assert.ok(holdMs(one(recording, 'pool_wait', traceId)) >= 18);
    assert.equal(openSlots(), 0);
  } finally {
    await knex.destroy();
  }
}
