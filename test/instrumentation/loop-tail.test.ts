import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../sample-app/src/postgres/database.ts';
import { type Recording, request, startRecording } from './support/recording.ts';

let recording: Recording;
let database: Database;
let pg: typeof import('pg');

before(async () => {
  recording = startRecording();
  pg = createRequire(import.meta.url)('pg');
  const { openDatabase } = await import('../../sample-app/src/postgres/database.ts');
  database = await openDatabase();
});
after(async () => {
  await database?.close();
  await recording?.stop();
});
beforeEach(() => recording.clear());

function busy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('a reply that lay in a busy event loop: the bounds hold, and the database is not blamed', async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('SELECT 1');
  let judged = 0;
  let held = 0;
  for (let round = 0; round < 3; round++) {
    recording.clear();
    const { traceId, value } = await request(async () => {
      // The server says when it was done; the statement is sent within the call.
      const answer = client.query(
        'SELECT pg_sleep(0.02), extract(epoch FROM clock_timestamp())::float8 * 1000 AS done',
      );
      busy(200);
      const { rows } = await answer;
      return rows[0].done as number;
    });
    const waits = recording.segment('eventloop_wait').filter((span) => span.traceId === traceId);
    // The server was not done when the loop came free: nothing waited.
    if (waits.length === 0) continue;
    assert.equal(waits.length, 1);
    const [wait] = waits;
    const trueMs = wait.endEpochMs - value;
    const query = recording.spans().find((span) => span.spanId === wait.parentId);
    assert.match(query?.name ?? '', /^pg\.query/);
    const min = (wait.attributes['waitfall.estimate.min_ns'] as number) / 1e6;
    const max = (wait.attributes['waitfall.estimate.max_ns'] as number) / 1e6;
    assert.ok(min <= trueMs + 2, `${min} <= ${trueMs}`);
    // A process that was not scheduled when its poll returned cannot know: the upper bound may miss that time.
    if (trueMs <= max + 2) held++;
    assert.ok(min <= wait.lengthMs + 0.001 && wait.lengthMs <= max + 0.001);
    assert.equal(wait.attributes['waitfall.estimated'], max - min > 1 ? true : undefined);
    assert.ok(wait.endMs <= (query?.endMs ?? 0) + 0.5);
    judged++;
  }
  assert.ok(judged > 0, 'no round told anything');
  assert.ok(held > 0, 'the upper bound never held');
  await client.end();
});

test('a quiet loop has no waits', async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  await pool.query('SELECT 1');
  await sleep(20);
  recording.clear();
  for (let i = 0; i < 5; i++) await request(() => pool.query('SELECT pg_sleep(0.01)'));
  const waitedMs = recording.segment('eventloop_wait').reduce((sum, span) => sum + span.lengthMs, 0);
  const queriedMs = recording
    .spans()
    .filter((span) => span.name.startsWith('pg.query'))
    .reduce((sum, span) => sum + span.lengthMs, 0);
  assert.ok(waitedMs < queriedMs / 2, `${waitedMs} ms of ${queriedMs} ms`);
  await pool.end();
});
