import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { openHolds } from '../../instrumentation/src/pg/pool-wait.ts';
import { type Database, openDatabase } from '../../sample-app/src/postgres/database.ts';
import { type Recording, request, startRecording } from './support/recording.ts';

let recording: Recording;
let database: Database;
let pool: Pool;
before(async () => {
  recording = startRecording({ official: false });
  const pg = createRequire(import.meta.url)('pg');
  database = await openDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 8 });
});
after(async () => {
  await pool.end();
  await recording.stop();
  await database.close();
});

async function placeOrder(holdMs: number): Promise<void> {
  const client = await pool.connect();
  await sleep(holdMs);
  client.release();
}

test('of long holds a small share says where the connection was asked for, of short ones none', async () => {
  for (let round = 0; round < 20; round++)
    await Promise.all(Array.from({ length: 8 }, () => request(() => placeOrder(25))));
  const sites = recording
    .segment('pool_wait')
    .map((span) => span.attributes['waitfall.hold.call_site'])
    .filter((site) => site !== undefined);
  assert.ok(sites.length >= 2 && sites.length <= 4, `${sites.length} of 160`);
  for (const site of sites)
    assert.match(String(site), /^placeOrder \(test\/instrumentation\/call-site\.test\.ts:\d+:\d+\)$/);
  recording.clear();
  for (let round = 0; round < 20; round++)
    await Promise.all(Array.from({ length: 8 }, () => request(() => placeOrder(0))));
  const short = recording
    .segment('pool_wait')
    .filter((span) => (span.attributes['waitfall.hold.duration_ns'] as number) < 20e6);
  assert.ok(short.length > 0);
  assert.ok(short.every((span) => span.attributes['waitfall.hold.call_site'] === undefined));
  assert.equal(openHolds(), 0);
});
