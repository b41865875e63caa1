import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type Postgres from 'postgres';
import { LEAD_QUERY } from '../../../instrumentation/src/pg/sampler/lock-query.ts';
import { lockSamplerReport, stopLockSampler } from '../../../instrumentation/src/pg/sampler/start.ts';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { assertBetween, moment } from '../support/moments.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';

let recording: Recording;
let database: Database;
let pg: typeof import('pg');
/** Stands for other processes. */
let others: Postgres.Sql;

before(async () => {
  process.env['WAITFALL_PG_LOCKS'] = 'leader';
  process.env['WAITFALL_ADAPTERS'] = 'false';
  recording = startRecording({ official: false });
  const require = createRequire(import.meta.url);
  pg = require('pg');
  database = await openDatabase(process.env['WAITFALL_TEST_DATABASE']);
  others = require('postgres')(database.url, { max: 4, fetch_types: false });
  await others`DROP TABLE IF EXISTS item`;
  await others`CREATE TABLE item (id int PRIMARY KEY, stock int)`;
  await others`INSERT INTO item VALUES (1, 1)`;
});
after(async () => {
  stopLockSampler();
  await others?.end();
  await database?.close();
  await recording?.stop();
});

async function until(is: () => boolean, what: string): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (is()) return;
    await sleep(20);
  }
  assert.fail(what);
}

const sampler = () => lockSamplerReport()?.databases[0];

test('one process of a database leads; when it goes, another takes over', async () => {
  const rival = await others.reserve();
  assert.equal((await rival.unsafe(LEAD_QUERY))[0].leads, true);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await request(() => client.query('SELECT pg_sleep(0.3)'));
  assert.equal(sampler()?.leads, false);
  assert.equal(sampler()?.polls, 0);
  await rival`SELECT pg_advisory_unlock_all()`;
  rival.release();
  await until(() => sampler()?.leads === true, 'it never took the lead');
  await client.end();
});

/** How far the server's clock, which we know by the shortest round trip, may seem from ours. */
const CLOCK_MS = 20;

/** @returns when the sampler has begun this many looks more, each after the one before was answered. */
async function moreLooks(count: number): Promise<void> {
  const last = async () => {
    const [row] = await others`
      SELECT query_start::text AS at FROM pg_stat_activity
      WHERE application_name = 'waitfall-lock-sampler' AND query LIKE '%pg_blocking_pids%'`;
    return String(row?.at);
  };
  for (let more = 0, seen = await last(), tries = 0; more < count; tries++) {
    assert.ok(tries < 3_000, 'the sampler does not look');
    await sleep(10);
    const now = await last();
    if (now !== seen) more++;
    seen = now;
  }
}

test('the leader records the waits of other processes below the spans their comments name', async () => {
  const traceId = '12'.repeat(16);
  const comment = `/*traceparent='00-${traceId}-${'34'.repeat(8)}-01'*/`;
  const text = `UPDATE item SET stock = 3 WHERE id = 1 ${comment}`;
  let taken = () => {};
  const has = new Promise<void>((resolve) => {
    taken = resolve;
  });
  let [waitingMs, firstByMs, lastFromMs, letGoMs] = [0, 0, 0, 0];
  const held = others.begin(async (tx) => {
    await tx`UPDATE item SET stock = 2 WHERE id = 1`;
    taken();
    for (let waiting = 0; waiting === 0; await sleep(5)) {
      const [row] = await others`
        SELECT count(*)::int AS waiting FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE NOT granted AND query = ${text}`;
      waiting = row.waiting;
    }
    waitingMs = moment();
    await moreLooks(2);
    firstByMs = moment();
    await sleep(60);
    lastFromMs = moment();
    await moreLooks(2);
    letGoMs = moment();
  });
  await has;
  const calledMs = moment();
  const waited = others.unsafe(text).then(() => moment());
  // The same without a comment belongs nowhere.
  const silent = others.unsafe('UPDATE item SET stock = 4 WHERE id = 1').execute();
  const [answeredMs] = await Promise.all([waited, held, silent]);
  const find = () => recording.segment('lock_wait').filter((span) => span.traceId === traceId);
  await until(() => find().length > 0, 'its wait was never recorded');
  const recordedMs = moment();
  const [wait, ...more] = find();
  assert.deepEqual(more, []);
  assert.equal(wait.parentId, '34'.repeat(8));
  assert.equal(wait.attributes['waitfall.resource'], 'lock:item');
  assert.equal(wait.attributes['waitfall.estimated'], true);
  assertBetween(wait.startMs, calledMs - CLOCK_MS, firstByMs, 'the wait begins');
  // Only the next look tells that it is over.
  assertBetween(wait.endMs, lastFromMs, recordedMs, 'the wait ends');
  const [minMs, maxMs] = ['min', 'max'].map(
    (end) => (wait.attributes[`waitfall.estimate.${end}_ns`] as number) / 1e6,
  );
  assertBetween(minMs, 0, answeredMs - calledMs + CLOCK_MS, 'the lower bound');
  assertBetween(maxMs, letGoMs - waitingMs - CLOCK_MS, recordedMs - calledMs + CLOCK_MS, 'the upper bound');
});
