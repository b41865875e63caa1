import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockSamplerReport, stopLockSampler } from '../../../instrumentation/src/pg/sampler/start.ts';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';

let recording: Recording;
let database: Database;
let pg: typeof import('pg');

before(async () => {
  process.env['WAITFALL_PG_LOCKS'] = 'true';
  recording = startRecording({ official: true });
  pg = createRequire(import.meta.url)('pg');
  database = await openDatabase();
});
after(async () => {
  stopLockSampler();
  await database?.close();
  await recording?.stop();
});

test('with the official pg instrumentation: waits are below its spans, which say what was seen', async () => {
  const [holder, waiter] = [1, 2].map(() => new pg.Client({ connectionString: database.url }));
  await Promise.all([holder.connect(), waiter.connect()]);
  while ((lockSamplerReport()?.databases[0]?.polls ?? 0) === 0)
    await request(() => waiter.query('SELECT pg_sleep(0.05)'));
  recording.clear();
  await holder.query('CREATE TABLE audit (at timestamptz)');
  await holder.query('BEGIN');
  const first = await request(() => holder.query('LOCK TABLE audit IN ACCESS EXCLUSIVE MODE'));
  const looks = () => lockSamplerReport()?.databases[0]?.pollsWithWaits ?? 0;
  const released = async () => {
    for (let tries = 0; looks() < 3 && tries < 1_000; tries++) await sleep(10);
    await holder.query('COMMIT');
  };
  const [second] = await Promise.all([request(() => waiter.query('SELECT count(*) FROM audit')), released()]);
  await Promise.all([holder.end(), waiter.end()]);
  const spans = recording.spans().filter((span) => span.traceId === second.traceId);
  const statement = spans.find(
    (span) => span.scope.endsWith('instrumentation-pg') && /^pg.query/.test(span.name),
  );
  const [wait, ...more] = spans.filter((span) => span.name === 'wait_for lock:audit');
  assert.deepEqual(more, []);
  assert.equal(wait.parentId, statement?.spanId);
  assert.ok(wait.lengthMs > 0 && wait.endMs <= (statement?.endMs ?? 0) + 1, `${wait.lengthMs} ms`);
  assert.match(String(statement?.attributes['waitfall.db.wait_events']), /Lock:relation \d+/);
  assert.deepEqual(
    wait.links.map((link) => link.traceId),
    [first.traceId],
  );
});
