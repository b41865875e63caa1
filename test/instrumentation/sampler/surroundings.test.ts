import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type Postgres from 'postgres';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { freePort } from '../../../sample-app/src/postgres/free-port.ts';
import { serverUser } from '../../../sample-app/src/postgres/os-user.ts';
import { installed, missing, running, type TestServer } from '../adapters/servers.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const register = fileURLToPath(new URL('../../../instrumentation/src/register.ts', import.meta.url));
let database: Database;
let directory: string;
let superuser: Postgres.Sql;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waitfall-sampler-'));
  database = await openDatabase();
  superuser = createRequire(import.meta.url)('postgres')(database.url, { max: 2, onnotice: () => {} });
  await superuser`CREATE TABLE item (id int PRIMARY KEY, stock int)`;
  await superuser`INSERT INTO item VALUES (1, 1)`;
  await superuser`CREATE ROLE app LOGIN PASSWORD 'app'`;
  await superuser`GRANT ALL ON item TO app`;
});
after(async () => {
  await superuser?.end();
  await database?.close();
  await rm(directory, { recursive: true, force: true });
});

/** A service that runs some statements in one request, and ends when it is done. */
const SERVICE = `
  const { trace } = require('@opentelemetry/api');
  const pg = require('pg');
  trace.getTracer('test').startActiveSpan('job', { kind: 1 }, async (span) => {
    const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1, idleTimeoutMillis: 10 });
    for (const text of process.env.STATEMENTS.split(';')) {
      const { rows } = await pool.query(text);
      console.log(JSON.stringify(rows));
    }
    await pool.end();
    span.end();
  });`;

interface Outcome {
  readonly stdout: string;
  /** What we said on stderr. */
  readonly said: string[];
  /** Names and attributes of lock waits. */
  readonly waits: Record<string, unknown>[];
}

let runs = 0;

async function service(env: Record<string, string>): Promise<Outcome> {
  const file = join(directory, `traces-${++runs}.jsonl`);
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--conditions=waitfall-source', '--import', register, '-e', SERVICE],
    {
      cwd: root,
      env: {
        ...process.env,
        WAITFALL_TRACE_FILE: file,
        WAITFALL_PG_LOCKS: 'true',
        DATABASE_URL: database.url,
        ...env,
      },
      // Longer than a process takes to start on a machine that is wanted by many.
      timeout: 120_000,
    },
  );
  return {
    stdout,
    said: stderr.split('\n').filter((line) => line.startsWith('waitfall:')),
    waits: lockWaits(await readFile(file, 'utf8')),
  };
}

interface Span {
  readonly name: string;
  readonly attributes: { key: string; value: Record<string, unknown> }[];
}

function lockWaits(text: string): Record<string, unknown>[] {
  const spans: Span[] = text
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => JSON.parse(line).resourceSpans)
    .flatMap((resource) => resource.scopeSpans)
    .flatMap((scope) => scope.spans);
  return spans
    .map(({ name, attributes }) => ({
      name,
      ...Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    }))
    .filter((span: Record<string, unknown>) => span['waitfall.segment'] === 'lock_wait');
}

/** @returns whether somebody waits for a lock and a sampler has asked since. */
async function isAsked(): Promise<boolean> {
  const [{ asked }] = await superuser`
    SELECT count(*) > 0 AS asked FROM pg_stat_activity
    WHERE application_name = 'waitfall-lock-sampler' AND query LIKE '%pg_blocking_pids%'
      AND state = 'idle' AND query_start > (SELECT max(waitstart) FROM pg_locks WHERE NOT granted)`;
  return asked;
}

/** Another role holds the row until a sampler has seen somebody wait for it, or nobody is left who could wait. */
async function rowHeld<T>(run: () => Promise<T>): Promise<T> {
  let taken = () => {};
  const has = new Promise<void>((resolve) => {
    taken = resolve;
  });
  let isOver = false;
  const held = superuser.begin(async (tx) => {
    await tx`UPDATE item SET stock = stock + 1 WHERE id = 1`;
    taken();
    while (!isOver && !(await isAsked())) await sleep(25);
  });
  await has;
  const running = run().finally(() => {
    isOver = true;
  });
  const [value] = await Promise.all([running, held]);
  return value;
}

test('the application ends when its work is done, the sampler keeps nothing alive', async () => {
  // Otherwise it is ended after its time, which is an error.
  const { stdout, said } = await service({ STATEMENTS: 'SELECT pg_sleep(0.2)::text;SELECT 1 AS one' });
  assert.equal(stdout, '[{"pg_sleep":""}]\n[{"one":1}]\n');
  assert.deepEqual(said, []);
});

test('with a role that may see nothing of others: the wait is seen, and said is what is not', async () => {
  const url = new URL(database.url);
  url.username = 'app';
  url.password = 'app';
  const { said, waits } = await rowHeld(() =>
    service({ DATABASE_URL: url.href, STATEMENTS: 'UPDATE item SET stock = 0 WHERE id = 1' }),
  );
  assert.equal(waits.length, 1);
  assert.equal(waits[0]['waitfall.resource'], 'lock:item');
  assert.equal(waits[0]['waitfall.blocker.statement'], undefined);
  assert.equal(said.length, 1);
  assert.match(said[0], /of another database role.*pg_read_all_stats/);
});

test('a database that cannot be asked costs one warning', async () => {
  const { stdout, said } = await service({
    STATEMENTS: 'SELECT pg_sleep(0.2)::text;SELECT 1 AS one',
    WAITFALL_PG_LOCKS_URL: 'postgres://127.0.0.1:1/nowhere',
  });
  assert.match(stdout, /"one":1/);
  assert.equal(said.length, 1);
  assert.match(said[0], /cannot ask the database/);
});

const withoutPgbouncer = missing('pgbouncer');

test('behind pgbouncer it turns itself off, with one warning', { skip: withoutPgbouncer }, async () => {
  const bouncer = await startPgbouncer();
  try {
    const url = new URL(database.url);
    url.port = `${bouncer.port}`;
    const statements = {
      STATEMENTS: 'SELECT pg_sleep(1)::text;SELECT 1 AS one',
    };
    // The sampler goes through it as well: the process id of the greeting is not the one that answers.
    const both = await service({ DATABASE_URL: url.href, ...statements });
    assert.match(both.stdout, /"one":1/);
    assert.equal(both.said.length, 1);
    assert.match(both.said[0], /pooler like pgbouncer/);
    // Only the application does: its process ids are unknown to the server.
    const one = await service({ DATABASE_URL: url.href, WAITFALL_PG_LOCKS_URL: database.url, ...statements });
    assert.match(one.stdout, /"one":1/);
    assert.equal(one.said.length, 1);
    assert.match(one.said[0], /not found on the server under their process ids/);
  } finally {
    await bouncer.close();
  }
});

async function startPgbouncer(): Promise<TestServer> {
  const { hostname, port: target, username, password } = new URL(database.url);
  const folder = await mkdtemp(join(tmpdir(), 'waitfall-pgbouncer-'));
  const port = await freePort();
  const config = join(folder, 'pgbouncer.ini');
  await writeFile(join(folder, 'users'), `"${username}" "${password}"\n`, { mode: 0o644 });
  await writeFile(
    config,
    `[databases]
postgres = host=${hostname} port=${target} dbname=postgres user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
auth_type = scram-sha-256
auth_file = ${join(folder, 'users')}
pool_mode = transaction
unix_socket_dir =
`,
    { mode: 0o644 },
  );
  const user = serverUser();
  await chmod(folder, 0o755);
  const child: ChildProcess = spawn(installed('pgbouncer') as string, [config], {
    stdio: 'ignore',
    ...(user ?? {}),
  });
  return running(child, port, folder);
}
