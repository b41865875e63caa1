import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { type Database, openDatabase } from '../../sample-app/src/postgres/database.ts';

const run = promisify(execFile);
const script = fileURLToPath(new URL('support/services/load-order.mjs', import.meta.url));
const hooks = fileURLToPath(new URL('support/services/esm-hooks.mjs', import.meta.url));

let database: Database;
let url: string;

before(async () => {
  database = await openDatabase();
  url = await database.createSchema('order');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('CREATE TABLE item (id int PRIMARY KEY, sold int NOT NULL DEFAULT 0)');
  await client.query('INSERT INTO item (id) VALUES (1)');
  await client.end();
});
after(() => database?.close());

async function recorded(order: string, style: string): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await run(
    process.execPath,
    ['--conditions=waitfall-source', '--import', hooks, script, order, style],
    { env: { ...process.env, DATABASE_URL: url } },
  );
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

const STYLES = [
  'require',
  'import',
  'require, then import',
  'import, then require',
  'pg-pool by itself',
  'after a restart',
];

for (const order of ['official+waitfall', 'waitfall+official', 'waitfall']) {
  test(`${order}: one span a query, none lost, none doubled, however pg is loaded`, async () => {
    const check = async (style: string) => {
      const { added, ...counts } = await recorded(order, style);
      assert.deepEqual(
        counts,
        {
          queries: 4,
          officialQueries: order === 'waitfall' ? 0 : 4,
          pool: 2,
          connection: 1,
          lock: 1,
          lockBelowQuery: 1,
          orphans: 0,
        },
        style,
      );
      if (order === 'waitfall') assert.deepEqual(added, [0, 0, 0, 0, 0], 'no listener is added to a pool');
    };
    await Promise.all(STYLES.map(check));
    // The official instrumentation doubles its own spans there.
    if (order === 'waitfall') await check('hidden by an agent');
  });
}
