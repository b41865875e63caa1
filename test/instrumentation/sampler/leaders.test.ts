/** Several services of one database: what the server itself says about who asks it. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type Postgres from 'postgres';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const register = fileURLToPath(new URL('../../../instrumentation/src/register.ts', import.meta.url));

/** A service whose requests wait in the database all the time. */
const SERVICE = `
  const { trace } = require('@opentelemetry/api');
  const pg = require('pg');
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1 });
  (async () => {
    for (;;) await trace.getTracer('test').startActiveSpan('job', { kind: 1 }, async (span) => {
      await pool.query('SELECT pg_sleep(0.05)');
      span.end();
    });
  })();`;

let database: Database;
let directory: string;
let others: Postgres.Sql;
const services: ChildProcess[] = [];

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waitfall-leaders-'));
  database = await openDatabase();
  others = createRequire(import.meta.url)('postgres')(database.url, { max: 4, fetch_types: false });
  await others`CREATE TABLE item (id int PRIMARY KEY, stock int)`;
  await others`INSERT INTO item VALUES (1, 1)`;
});
after(async () => {
  for (const service of services) service.kill('SIGKILL');
  await others?.end();
  await database?.close();
  await rm(directory, { recursive: true, force: true });
});

function startService(file: string): ChildProcess {
  const child = spawn(
    process.execPath,
    ['--conditions=waitfall-source', '--import', register, '-e', SERVICE],
    {
      cwd: root,
      env: {
        ...process.env,
        DATABASE_URL: database.url,
        WAITFALL_PG_LOCKS: 'leader',
        WAITFALL_TRACE_FILE: file,
      },
      stdio: 'ignore',
    },
  );
  services.push(child);
  return child;
}

async function until(is: () => Promise<boolean>, what: string): Promise<void> {
  for (let tries = 0; tries < 1_200; tries++) {
    if (await is()) return;
    await sleep(50);
  }
  assert.fail(what);
}

/** @returns sessions of samplers, those that asked about others, and those that have the lead, as the server knows them. */
async function sessions(): Promise<{ all: number; asking: number[]; leading: number[] }> {
  const rows = await others`
    SELECT a.pid, a.query LIKE '%pg_blocking_pids%' AS asks, l.pid IS NOT NULL AS leads
    FROM pg_stat_activity a LEFT JOIN pg_locks l
      ON l.pid = a.pid AND l.locktype = 'advisory' AND l.classid = 1463896653 AND l.objid = 1 AND l.granted
    WHERE a.application_name = 'waitfall-lock-sampler'`;
  const pids = (of: 'asks' | 'leads') => rows.filter((row) => row[of]).map((row) => Number(row.pid));
  return { all: rows.length, asking: pids('asks'), leading: pids('leads') };
}

test('of several processes one asks; those that are left take over; the last records what others wait for', async () => {
  const files = ['a', 'b', 'c'].map((name) => join(directory, `${name}.jsonl`));
  const running = files.map(startService);
  for (let left = running.length; left > 0; left--) {
    await until(async () => {
      const { all, asking, leading } = await sessions();
      return all === left && asking.length === 1 && leading[0] === asking[0] && leading.length === 1;
    }, `${left} processes: none of them, or more than one, asks`);
    if (left === 1) break;
    // Whichever it is: a process that is killed has no time to say so.
    const killed = running[running.length - left];
    killed.kill('SIGKILL');
    await once(killed, 'exit');
  }
  const traceId = '56'.repeat(16);
  const held = others.begin(async (tx) => {
    await tx`UPDATE item SET stock = 2 WHERE id = 1`;
    const waiting = others
      .unsafe(`UPDATE item SET stock = 3 WHERE id = 1 /*traceparent='00-${traceId}-${'78'.repeat(8)}-01'*/`)
      .execute();
    // Two looks at somebody who waits, by the server's own record.
    for (let looks = 0, last = ''; looks < 3; await sleep(20)) {
      const [{ at, waits }] = await others`
        SELECT max(query_start)::text AS at, (SELECT count(*)::int FROM pg_locks WHERE NOT granted) AS waits
        FROM pg_stat_activity
        WHERE application_name = 'waitfall-lock-sampler' AND query LIKE '%pg_blocking_pids%'`;
      if (waits > 0 && at !== last) looks++;
      last = at;
    }
    return { waiting };
  });
  await (await held).waiting;
  await until(
    async () => (await readFile(files[2], 'utf8')).includes(traceId),
    'the wait of another process was never recorded',
  );
});
