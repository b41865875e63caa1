/** The outbox worker: writes the audit records that sign-ups left behind, for as long as it runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expandBatch } from './expand.ts';

/** How long the worker rests when the outbox is empty. */
const IDLE_MS = 25;
const BATCH = 20;

const { DATABASE_URL, AUDIT_BYTES } = process.env;
if (!DATABASE_URL || !Number(AUDIT_BYTES)) throw new Error('DATABASE_URL and AUDIT_BYTES must be set');

let ending = false;
process.on('SIGTERM', () => {
  ending = true;
});
process.on('SIGINT', () => {
  ending = true;
});
process.on('disconnect', () => process.exit(0));

const client = new pg.Client({ connectionString: DATABASE_URL, application_name: 'outbox-worker' });
client.on('error', (error) => {
  console.error(`the outbox worker lost its connection: ${error.message}`);
  process.exit(1);
});
await client.connect();
process.send?.({ ready: true });
while (!ending) {
  const { records } = await expandBatch(client, BATCH, Number(AUDIT_BYTES));
  if (records < BATCH) await sleep(IDLE_MS);
}
await client.end();
process.exit(0);
