import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { namePool } from '@waitfall/instrumentation';
import type { PoolConnection } from 'mysql2/promise';
import { openSlots } from '../../../instrumentation/src/adapters/slot-wait.ts';
import { assertBetween, holdEndMs, moment } from '../support/moments.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';
import { attribute, fourThroughTwo, freeIsNoWait, none, one, Visit } from './measured.ts';
import { missing, startMariadb, type TestServer } from './servers.ts';

const skip = missing('mariadbd');
let recording: Recording;
let server: TestServer;
let mysql: typeof import('mysql2');

before(async () => {
  if (skip) return;
  recording = startRecording({ official: false });
  const require = createRequire(import.meta.url);
  mysql = require('mysql2');
  server = await startMariadb();
  const connection = await require('mysql2/promise').createConnection(options());
  await connection.query('CREATE DATABASE shop');
  await connection.end();
});
after(async () => {
  await recording?.stop();
  await server?.close();
});
beforeEach(() => recording?.clear());

const options = (more: object = {}) => ({ host: '127.0.0.1', port: server.port, user: 'root', ...more });
const newPool = (more: object = {}) =>
  mysql.createPool(options({ database: 'shop', connectionLimit: 2, ...more }));

/** A pool, and when it said that a connection was made. */
function watchedPool(more: object = {}) {
  const own = newPool(more);
  const madeAtMs = new Map<number | null | undefined, number>();
  own.on('connection', ({ threadId }) => madeAtMs.set(threadId, moment()));
  const pool = own.promise();
  return {
    acquire: () => pool.getConnection(),
    release: (connection: PoolConnection) => connection.release(),
    madeMs: ({ threadId }: PoolConnection) => madeAtMs.get(threadId),
    end: () => pool.end(),
  };
}

test('mysql2: waits, new connections and holds begin and end with what the caller and the pool do', {
  skip,
}, async () => {
  const pool = watchedPool();
  await fourThroughTwo(recording, pool, 'mysql2-pool:shop');
  recording.clear();
  await freeIsNoWait(recording, pool);
  await pool.end();
});

test('mysql2: statements of the pool are in the trace of their caller, in the order of the calls', {
  skip,
}, async () => {
  const pool = newPool({ connectionLimit: 1 });
  const order: number[] = [];
  const traces = await Promise.all(
    [1, 2, 3].map((number) =>
      request(
        () =>
          new Promise<void>((resolve, reject) => {
            pool.query('SELECT SLEEP(0.05), ? AS number', [number], (error, rows) => {
              if (error) return reject(error);
              order.push((rows as { number: number }[])[0].number);
              resolve();
            });
          }),
      ),
    ),
  );
  assert.deepEqual(order, [1, 2, 3]);
  const waits = traces.map(({ traceId }) => one(recording, 'pool_wait', traceId));
  assert.deepEqual(
    waits.map((wait) => attribute(wait, 'resource.queue_depth')),
    [0, 0, 1],
  );
  assert.ok(waits[1].lengthMs >= 45, `${waits[1].lengthMs} ms behind one statement of 50 ms`);
  assert.ok(waits[2].lengthMs >= 95, `${waits[2].lengthMs} ms behind two`);
  await new Promise((resolve) => pool.end(resolve));
  assert.equal(openSlots(), 0);
});

test('mysql2: a full queue refuses, a pool that ends aborts, a server that is not there refuses', {
  skip,
}, async () => {
  const pool = newPool({ connectionLimit: 1, queueLimit: 1 }).promise();
  const holder = await pool.getConnection();
  const aborted = request(() => assert.rejects(pool.getConnection(), /Pool is closed/));
  const refused = await request(() => assert.rejects(pool.getConnection(), /Queue limit reached/));
  assert.equal(attribute(one(recording, 'pool_wait', refused.traceId), 'outcome'), 'rejected');
  holder.destroy();
  const ended = pool.end();
  // The waiter was given the place of the destroyed connection, or was told that the pool is closed.
  const { traceId } = await aborted;
  await ended;
  assert.notEqual(
    recording.segment('pool_wait').find((span) => span.traceId === traceId),
    undefined,
  );

  const nowhere = mysql.createPool({ host: '127.0.0.1', port: 1, connectionLimit: 1 }).promise();
  const failed = await request(() => assert.rejects(nowhere.getConnection(), { code: 'ECONNREFUSED' }));
  const connection = one(recording, 'connection_wait', failed.traceId);
  assert.equal(attribute(connection, 'outcome'), 'rejected');
  assert.equal(connection.attributes['error.type'], 'ECONNREFUSED');
  await nowhere.end();
});

test('mysql2: a waiter gets the place of a connection that broke', { skip }, async () => {
  const pool = watchedPool({ connectionLimit: 1 });
  const holder = await pool.acquire();
  const waiting = new Visit(pool);
  await sleep(20);
  const destroyingMs = moment();
  holder.destroy();
  const connection = await waiting.got;
  waiting.letGo();
  await waiting.done;
  const { traceId, fromMs, calledMs, gotMs } = waiting;
  const wait = one(recording, 'pool_wait', traceId);
  const opened = one(recording, 'connection_wait', traceId);
  const madeMs = pool.madeMs(connection) ?? assert.fail('a new connection is told');
  assertBetween(wait.startMs, fromMs, calledMs, 'the wait begins');
  assertBetween(wait.endMs, destroyingMs, madeMs, 'the slot is free');
  assert.equal(opened.startMs, wait.endMs);
  assertBetween(opened.endMs, madeMs, gotMs, 'the connection is there');
  await pool.end();
  assert.equal(openSlots(), 0);
});

test('mysql2: with resetOnRelease the slot is held until the session was reset', { skip }, async () => {
  const pool = newPool({ connectionLimit: 1, resetOnRelease: true }).promise();
  // The promise pool stands before the one that has the queue.
  namePool(pool, 'orders');
  const { traceId } = await request(async () => {
    const connection = await pool.getConnection();
    connection.release();
  });
  // Waits for the reset, then for nothing.
  const next = await request(async () => (await pool.getConnection()).release());
  for (let tries = 0; openSlots() > 0 && tries < 200; tries++) await sleep(5);
  const [first, second] = [traceId, next.traceId].map((id) => one(recording, 'pool_wait', id));
  assert.equal(attribute(first, 'resource'), 'mysql2-pool:orders');
  assert.ok(holdEndMs(first) <= second.endMs + 0.002, 'holds of one slot do not overlap');
  await pool.end();
  assert.equal(openSlots(), 0);
});

test('mysql2: a single connection is no pool', { skip }, async () => {
  const { traceId } = await request(
    () =>
      new Promise<void>((resolve, reject) => {
        const connection = mysql.createConnection(options());
        connection.query('SELECT 1', (error) => (error ? reject(error) : connection.end(() => resolve())));
      }),
  );
  none(recording, 'pool_wait', traceId);
});
