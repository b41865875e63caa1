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

test('four transactions of 50 ms over two connections', async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 2, application_name: 'signup' });
  await Promise.all(
    Array.from({ length: 4 }, () =>
      request(async () => {
        const client = await pool.connect();
        await client.query('BEGIN');
        await client.query('SELECT pg_sleep(0.05)');
        await client.query('COMMIT');
        client.release();
      }),
    ),
  );
  await pool.end();
  for (const s of recording.spans().sort((a, b) => a.startMs - b.startMs))
    console.log(
      s.traceId.slice(0, 4),
      s.spanId.slice(0, 4),
      (s.parentId ?? '').slice(0, 4),
      s.name,
      s.startMs.toFixed(1),
      s.lengthMs.toFixed(1),
      JSON.stringify(
        Object.fromEntries(Object.entries(s.attributes).filter(([k]) => k.startsWith('waitfall'))),
      ),
    );
  assert.ok(sleep);
});

test('lock', async () => {
  recording.clear();
  const pool = new pg.Pool({ connectionString: database.url, max: 4, application_name: 'signup' });
  await pool.query('create table t(id int primary key, n int); ');
  await pool.query('insert into t values (1,0)');
  recording.clear();
  await Promise.all(
    Array.from({ length: 3 }, () =>
      request(async () => {
        const client = await pool.connect();
        await client.query('BEGIN');
        await client.query('update t set n=n+1 where id=$1', [1]);
        await client.query('SELECT pg_sleep(0.05)');
        await client.query('COMMIT');
        client.release();
      }),
    ),
  );
  await pool.end();
  for (const s of recording.spans().sort((a, b) => a.startMs - b.startMs))
    console.log(
      s.traceId.slice(0, 4),
      s.spanId.slice(0, 4),
      (s.parentId ?? '').slice(0, 4),
      s.name,
      s.startMs.toFixed(1),
      s.lengthMs.toFixed(1),
      JSON.stringify(
        Object.fromEntries(Object.entries(s.attributes).filter(([k]) => k.startsWith('waitfall'))),
      ),
      JSON.stringify(s.links),
    );
});
