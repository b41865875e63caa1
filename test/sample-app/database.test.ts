import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { openDatabase } from '../../sample-app/src/postgres/database.ts';

const temporary = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
// As root, PostgreSQL runs as another user and must get through here.
chmodSync(temporary, 0o755);
process.env['TMPDIR'] = temporary;
after(() => rmSync(temporary, { recursive: true }));

/** A process that has ended but was not yet waited for by whoever inherited it is dead. */
const alive = (pid: number) => {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
};

async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (holds()) return;
    await sleep(50);
  }
  assert.fail(`not within 10 s: ${what}`);
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

interface Opened {
  readonly pid: number;
  readonly directory: string;
}

/** A process that opens a database and then does nothing. */
async function holder(): Promise<{ child: ChildProcess; opened: Opened }> {
  const child = fork(fileURLToPath(new URL('holder.ts', import.meta.url)), { execArgv: [] });
  const [opened] = (await once(child, 'message')) as [Opened];
  return { child, opened };
}

test('two servers at once, each with its own data; nothing is left of either', async () => {
  const databases = await Promise.all([openDatabase(), openDatabase()]);
  const urls = await Promise.all(databases.map((database) => database.createSchema('test')));
  for (const [index, url] of urls.entries()) {
    await query(url, 'CREATE TABLE mine (n int)');
    await query(url, `INSERT INTO mine VALUES (${index})`);
  }
  assert.deepEqual(await query(urls[0]!, 'SELECT n FROM mine'), [{ n: 0 }]);
  assert.deepEqual(await query(urls[1]!, 'SELECT n FROM mine'), [{ n: 1 }]);
  await Promise.all(databases.map((database) => database.close()));
  for (const { pid, directory } of databases) {
    assert.equal(alive(pid!), false);
    assert.equal(existsSync(directory!), false);
  }
});

test('an existing server: schemas of our own, gone at the end, others untouched', async () => {
  const server = await openDatabase();
  const kept = await server.createSchema('kept');
  await query(kept, 'CREATE TABLE data (n int)');
  const guest = await openDatabase(server.url);
  assert.equal(guest.pid, null);
  const url = await guest.createSchema('run');
  await query(url, 'CREATE TABLE data (n int)');
  const schemas = async () => {
    const rows = await query(server.url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'waitfall%'");
    return rows.length;
  };
  assert.equal(await schemas(), 2);
  await guest.close();
  assert.equal(await schemas(), 1);
  assert.deepEqual(await query(kept, 'SELECT * FROM data'), []);
  await server.close();
});

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`${signal} of the owner: server and directory are gone all the same`, async () => {
    const { child, opened } = await holder();
    assert.ok(alive(opened.pid) && existsSync(opened.directory));
    child.kill(signal);
    await eventually('server gone', () => !alive(opened.pid));
    await eventually('directory gone', () => !existsSync(opened.directory));
  });
}

test('owner and keeper killed together: the next one to open a database clears up', async () => {
  const { child, opened } = await holder();
  const keeper = Number(readFileSync(join(opened.directory, 'owner'), 'utf8'));
  process.kill(keeper, 'SIGKILL');
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.ok(alive(opened.pid) && existsSync(opened.directory), 'nobody is left to clear up');
  const other = await openDatabase();
  try {
    await eventually('the server gone', () => !alive(opened.pid));
    assert.equal(existsSync(opened.directory), false);
    assert.equal(alive(other.pid!), true);
  } finally {
    await other.close();
  }
});

test('an owner that dies while the server is being made leaves nothing', async () => {
  const child = fork(fileURLToPath(new URL('holder.ts', import.meta.url)), { execArgv: [] });
  await eventually('a directory', () => readdirSync(temporary).length > 0);
  child.kill('SIGKILL');
  await eventually('nothing left', () => readdirSync(temporary).length === 0);
});
