import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type Postgres from 'postgres';
import { openSlots } from '../../../instrumentation/src/adapters/slot-wait.ts';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { assertBetween, holdEndMs, holdMs, moment } from '../support/moments.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';
import { attribute, fourThroughTwo, freeIsNoWait, none, one } from './measured.ts';

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

async function until(is: () => boolean, what: string): Promise<void> {
  for (let tries = 0; tries < 5_000; tries++) {
    if (is()) return;
    await sleep(2);
  }
  assert.fail(what);
}

/** A query in a request of its own that the server answers when the test says so. */
class HeldQuery {
  static #keys = 0;
  readonly #key = ++HeldQuery.#keys;
  readonly #control: Postgres.Sql;
  readonly #query: Postgres.PendingQuery<Postgres.Row[]>;
  traceId = '';
  /** Around the call. */
  fromMs = 0;
  calledMs = 0;
  /** When the library was seen to take it for the one that the server works on. */
  runsMs = 0;
  letGoMs = 0;
  answeredMs = 0;
  done: Promise<void> = Promise.resolve();

  constructor(sql: Postgres.Sql, control: Postgres.Sql) {
    this.#control = control;
    this.#query = sql.unsafe(`SELECT pg_advisory_xact_lock_shared(${this.#key})`);
  }

  /** One connection holds what they all wait for. */
  hold(): Promise<unknown> {
    return this.#control`SELECT pg_advisory_lock(${this.#key})`;
  }

  send(): void {
    this.done = request(async () => {
      this.fromMs = moment();
      const answer = this.#query.execute();
      this.calledMs = moment();
      await answer;
      this.answeredMs = moment();
    }).then(({ traceId }) => {
      this.traceId = traceId;
    });
  }

  get runs(): boolean {
    return (this.#query as unknown as { active: boolean }).active;
  }

  async seenRunning(): Promise<void> {
    await until(() => this.runs, 'it never ran');
    this.runsMs = moment();
  }

  async letGo(): Promise<void> {
    this.letGoMs = moment();
    await this.#control`SELECT pg_advisory_unlock(${this.#key})`;
    await this.done;
  }
}

test('postgres: queries wait until a connection turns to them, and hold it to their answer', async () => {
  const sql = open({ connection: { application_name: 'shop' } });
  const control = open({ max: 1 });
  const queries = [0, 1, 2, 3].map(() => new HeldQuery(sql, control));
  for (const query of queries) await query.hold();
  for (const query of queries) query.send();
  const [first, second, ...behind] = queries;
  await Promise.all([first.seenRunning(), second.seenRunning()]);
  await sleep(30);
  const freed = new Map<HeldQuery, number>();
  for (const ahead of [first, second]) {
    await ahead.letGo();
    const waiting = behind.filter((query) => !freed.has(query));
    await until(() => waiting.some(({ runs }) => runs), 'nobody got the connection');
    const next = waiting.find(({ runs }) => runs) as HeldQuery;
    next.runsMs = moment();
    freed.set(next, ahead.letGoMs);
    await sleep(10);
  }
  for (const query of behind) await query.letGo();
  assert.equal(openSlots(), 0);
  for (const query of queries) {
    const wait = one(recording, 'pool_wait', query.traceId);
    assert.equal(wait.name, 'wait_for postgres-pool:shop');
    assert.equal(attribute(wait, 'resource.capacity'), 2);
    assertBetween(wait.startMs, query.fromMs, query.calledMs, 'the wait begins');
    assertBetween(holdEndMs(wait), query.letGoMs, query.answeredMs, 'the hold ends');
    const freedMs = freed.get(query);
    if (freedMs === undefined) {
      assert.equal(wait.lengthMs, 0);
      const connection = one(recording, 'connection_wait', query.traceId);
      assertBetween(connection.endMs, query.calledMs, query.runsMs, 'the connection is there');
    } else {
      none(recording, 'connection_wait', query.traceId);
      assertBetween(wait.endMs, freedMs, query.runsMs, 'the wait ends');
    }
  }
  await sql.end();
  await control.end();
});

test('postgres: a new connection on which the library asks for types first is waited for', async () => {
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  // Sent when it is awaited: that has to be inside the request.
  const ask = async () => void (await sql`SELECT 1`);
  const { traceId } = await request(ask);
  assert.equal(attribute(one(recording, 'connection_wait', traceId), 'outcome'), 'acquired');
  const again = await request(ask);
  none(recording, 'connection_wait', again.traceId);
  await sql.end();
});

test('postgres: a free connection is no wait; an error ends the hold', async () => {
  const sql = open({ max: 1 });
  await sql`SELECT 1`;
  recording.clear();
  const { traceId } = await request(async () => {
    await assert.rejects(async () => sql`SELECT * FROM nowhere`, { code: '42P01' });
  });
  const wait = one(recording, 'pool_wait', traceId);
  assert.equal(wait.lengthMs, 0);
  none(recording, 'connection_wait', traceId);
  assert.equal(openSlots(), 0);
  await sql.end();
});

test('postgres: a transaction holds its connection to its end, also when it fails', async () => {
  const sql = open({ max: 1 });
  await sql`SELECT 1`;
  recording.clear();
  let isCalled = () => {};
  const waiterCalled = new Promise<void>((resolve) => {
    isCalled = resolve;
  });
  let isInside = () => {};
  const inside = new Promise<void>((resolve) => {
    isInside = resolve;
  });
  let [beginMs, insideMs, leavingMs] = [0, 0, 0];
  const transaction = request(() => {
    beginMs = moment();
    return sql.begin(async (tx) => {
      insideMs = moment();
      isInside();
      await tx`SELECT 1`;
      await waiterCalled;
      await sleep(20);
      await tx`SELECT 2`;
      leavingMs = moment();
      return 'done';
    });
  }).then((done) => ({ ...done, toldMs: moment() }));
  await inside;
  let [fromMs, calledMs, answeredMs] = [0, 0, 0];
  const waiting = request(async () => {
    fromMs = moment();
    const answer = sql`SELECT 3`.execute();
    calledMs = moment();
    isCalled();
    await answer;
    answeredMs = moment();
  });
  const [{ traceId, value, toldMs }, second] = await Promise.all([transaction, waiting]);
  assert.equal(value, 'done');
  const held = one(recording, 'pool_wait', traceId);
  assertBetween(held.endMs, beginMs, insideMs, 'the hold begins');
  assertBetween(holdEndMs(held), leavingMs, toldMs, 'the hold ends');
  const wait = one(recording, 'pool_wait', second.traceId);
  assertBetween(wait.startMs, fromMs, calledMs, 'the wait begins');
  assertBetween(wait.endMs, leavingMs, answeredMs, 'the wait ends');

  await assert.rejects(
    sql.begin(async () => {
      throw new RangeError('no');
    }),
    RangeError,
  );
  assert.equal(openSlots(), 0);
  await sql.end();
});

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
  let [fromMs, answeredMs] = [0, 0];
  const { traceId } = await request(() =>
    sql.begin(async (tx) => {
      fromMs = moment();
      await tx`SELECT pg_sleep(${0.05})`;
      answeredMs = moment();
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
  const [, { startMs, endMs, lengthMs }] = statements;
  assertBetween(startMs, fromMs, answeredMs - 50, 'the statement begins');
  assertBetween(endMs, fromMs + 50, answeredMs, 'the statement ends');
  assert.ok(lengthMs >= 50, `${lengthMs} ms of 50 ms`);
  await sql.end();
});

test('knex: its pool is named by its database, waits as tarn does', async () => {
  const knex = require('knex')({
    client: 'pg',
    connection: { connectionString: database.url, application_name: 'orders' },
    pool: { min: 0, max: 2 },
  });
  const madeAtMs = new Map<unknown, number>();
  knex.client.pool.on('createSuccess', (_id: number, made: unknown) => madeAtMs.set(made, moment()));
  const pool = {
    acquire: () => knex.client.acquireConnection(),
    release: (connection: unknown) => knex.client.releaseConnection(connection),
    madeMs: (connection: unknown) => madeAtMs.get(connection),
  };
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
  await knex.destroy();
});
