import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Client as PgClient } from 'pg';
import {
  type ActivityRow,
  CHECK_QUERY,
  LEAD_QUERY,
  LOCK_QUERY,
} from '../../../instrumentation/src/pg/sampler/lock-query.ts';
import { freePort } from '../../../sample-app/src/postgres/free-port.ts';
import { serverUser } from '../../../sample-app/src/postgres/os-user.ts';

const { Client } = createRequire(import.meta.url)('pg') as { Client: typeof PgClient };

/** Debian keeps its servers here; others can be named: folders with bin/initdb and bin/postgres. */
const DEBIAN = '/usr/lib/postgresql';
const folders = [
  ...(existsSync(DEBIAN) ? readdirSync(DEBIAN).map((version) => join(DEBIAN, version)) : []),
  ...(process.env['WAITFALL_TEST_POSTGRES'] ?? '').split(':'),
].filter((folder) => folder !== '' && existsSync(join(folder, 'bin', 'initdb')));

test('the installed servers', {
  skip:
    folders.length === 0 &&
    `no other PostgreSQL in ${DEBIAN}, none named by WAITFALL_TEST_POSTGRES (folders with bin/postgres, ":" between them)`,
}, async (t) => {
  for (const folder of folders) {
    await t.test(folder, async () => {
      const server = await startServer(folder);
      try {
        await waitAndAdvisoryLock(server.port);
        await otherTests(server.port);
      } finally {
        await server.close();
      }
    });
  }
});

/** Everything that the sampler is tested for on the newest server, on this one. */
async function otherTests(port: number): Promise<void> {
  const files = ['lock-sampler.test.ts', 'leader.test.ts', 'wait-events.test.ts'].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  );
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(
    process.execPath,
    ['--conditions=waitfall-source', '--test', '--test-concurrency=1', ...files],
    {
      env: { ...env, WAITFALL_TEST_DATABASE: `postgres://postgres@127.0.0.1:${port}/postgres` },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const [status] = await once(child, 'exit');
  assert.equal(status, 0, output);
  assert.match(output, /pass [1-9]/);
}

/** What the sampler asks is valid, and tells a wait for a row, its holder and its table, and an advisory lock. */
async function waitAndAdvisoryLock(port: number): Promise<void> {
  const clients: PgClient[] = [];
  const connect = async () => {
    const client = new Client({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      database: 'postgres',
    });
    clients.push(client);
    await client.connect();
    return client;
  };
  try {
    const [holder, waiter, sampler] = [await connect(), await connect(), await connect()];
    const [{ pid, version }] = (await sampler.query(CHECK_QUERY)).rows;
    assert.equal(pid, pidOf(sampler));
    assert.ok(version >= 140_000, `${version}`);
    assert.equal((await sampler.query(LEAD_QUERY)).rows[0].leads, true);
    assert.equal((await holder.query(LEAD_QUERY)).rows[0].leads, false);
    await holder.query('CREATE TABLE item (id int PRIMARY KEY, n int); INSERT INTO item VALUES (1, 1)');
    await holder.query('BEGIN');
    await holder.query('UPDATE item SET n = 2 WHERE id = 1');
    const waiting = waiter.query('UPDATE item SET n = 3 WHERE id = 1');
    const row = await seen(sampler, pidOf(waiter), (row) => row.locktype !== null);
    assert.deepEqual(row.blockers, [pidOf(holder)]);
    assert.equal(row.relation, 'item');
    assert.equal(row.wait_event_type, 'Lock');
    await holder.query('COMMIT');
    await waiting;
    const asleep = waiter.query('SELECT pg_sleep(0.2)');
    const busy = await seen(sampler, pidOf(waiter), (row) => row.state === 'active');
    assert.equal(busy.locktype, null);
    assert.equal(busy.wait_event, 'PgSleep');
    await asleep;
    await holder.query('DROP TABLE item');
  } finally {
    for (const client of clients) await client.end().catch(() => {});
  }
}

const pidOf = (client: PgClient) => (client as unknown as { processID: number }).processID;

async function seen(sampler: PgClient, pid: number, is: (row: ActivityRow) => boolean): Promise<ActivityRow> {
  for (let tries = 0; tries < 400; tries++) {
    const { rows } = await sampler.query<ActivityRow>(LOCK_QUERY, [[pid], true]);
    const row = rows.find((row) => row.pid === pid);
    if (row !== undefined && is(row)) return row;
    await sleep(5);
  }
  return assert.fail('never seen');
}

async function startServer(folder: string): Promise<{ port: number; close(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'waitfall-versions-'));
  const user = serverUser();
  await chmod(directory, 0o700);
  if (user !== null) await chown(directory, user.uid, user.gid);
  const options = { cwd: directory, env: { PATH: process.env['PATH'], LC_ALL: 'C' }, ...(user ?? {}) };
  const data = join(directory, 'data');
  const init = spawnSync(
    join(folder, 'bin', 'initdb'),
    [`--pgdata=${data}`, '--username=postgres', '--auth=trust', '--locale=C', '--no-sync'],
    { ...options, encoding: 'utf8' },
  );
  if (init.status !== 0) throw new Error(`initdb: ${init.stderr}`);
  const port = await freePort();
  const child: ChildProcess = spawn(
    join(folder, 'bin', 'postgres'),
    [
      '-D',
      data,
      '-p',
      `${port}`,
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      // What the tests of wait events need: that it reads, and writes to the disk.
      '-c',
      'shared_buffers=1MB',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], ...options },
  );
  await new Promise<void>((resolve, reject) => {
    let output = '';
    child.stderr?.on('data', (chunk) => {
      output += chunk;
      if (output.includes('ready to accept connections')) resolve();
    });
    child.once('exit', () => reject(new Error(output)));
  });
  return {
    port,
    async close() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGQUIT');
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
