import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type Postgres from 'postgres';
import { LEAD_QUERY } from '../../../instrumentation/src/pg/sampler/lock-query.ts';
import { lockSamplerReport, stopLockSampler } from '../../../instrumentation/src/pg/sampler/start.ts';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
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
  database = await openDatabase();
  others = require('postgres')(database.url, { max: 4, fetch_types: false });
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

test('the leader records the waits of other processes below the spans their comments name', async () => {
  const traceId = '12'.repeat(16);
  const comment = `/*traceparent='00-${traceId}-${'34'.repeat(8)}-01'*/`;
  let taken = () => {};
  const has = new Promise<void>((resolve) => {
    taken = resolve;
  });
  const held = others.begin(async (tx) => {
    await tx`UPDATE item SET stock = 2 WHERE id = 1`;
    taken();
    await sleep(1_200);
  });
  await has;
  const startedMs = performance.now();
  const waited = others.unsafe(`UPDATE item SET stock = 3 WHERE id = 1 ${comment}`).then(() => {
    return performance.now() - startedMs;
  });
  // The same without a comment belongs nowhere.
  const silent = others.unsafe('UPDATE item SET stock = 4 WHERE id = 1').execute();
  const [tookMs] = await Promise.all([waited, held, silent]);
  const find = () => recording.segment('lock_wait').filter((span) => span.traceId === traceId);
  await until(() => find().length > 0, 'its wait was never recorded');
  const [wait, ...more] = find();
  assert.deepEqual(more, []);
  assert.equal(wait.parentId, '34'.repeat(8));
  assert.equal(wait.attributes['waitfall.resource'], 'lock:item');
  assert.equal(wait.attributes['waitfall.estimated'], true);
  const [minMs, maxMs] = ['min', 'max'].map(
    (end) => (wait.attributes[`waitfall.estimate.${end}_ns`] as number) / 1e6,
  );
  assert.ok(minMs <= tookMs + 5, `at least ${minMs} ms of ${tookMs} ms`);
  assert.ok(maxMs >= tookMs - 100, `at most ${maxMs} ms of ${tookMs} ms`);
  assert.ok(wait.lengthMs > 500, `${wait.lengthMs} ms`);
});
