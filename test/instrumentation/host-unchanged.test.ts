import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { context, createContextKey } from '@opentelemetry/api';
import { isSupported } from '../../instrumentation/src/core/supported.ts';
import { openLocks } from '../../instrumentation/src/pg/locks/connection-locks.ts';
import { openHolds } from '../../instrumentation/src/pg/pool-wait.ts';
import { check } from '../../instrumentation/src/register/self-check.ts';
import type { Database } from '../../sample-app/src/postgres/database.ts';
import { type Recording, request, startRecording } from './support/recording.ts';

let recording: Recording;
let database: Database;
let pg: typeof import('pg');
const require = createRequire(import.meta.url);

before(async () => {
  recording = startRecording({ official: false });
  pg = require('pg');
  const { openDatabase } = await import('../../sample-app/src/postgres/database.ts');
  database = await openDatabase();
});
after(async () => {
  await database?.close();
  await recording?.stop();
});
beforeEach(() => recording.clear());

function newPool(options: object): InstanceType<typeof pg.Pool> {
  return new pg.Pool({ connectionString: database.url, ...options });
}

test('every calling style gives what pg gives', async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const text = 'SELECT $1::int AS n';
  await request(async () => {
    assert.equal((await client.query(text, [1])).rows[0].n, 1);
    assert.equal((await client.query({ text, values: [2] })).rows[0].n, 2);
    assert.equal((await client.query({ text }, [3])).rows[0].n, 3);
    assert.equal((await client.query({ text, rowMode: 'array' }, [4])).rows[0][0], 4);
    const withCallback = (
      run: (callback: (error: Error, result: { rows: { n: number }[] }) => void) => unknown,
    ) =>
      new Promise<number>((resolve, reject) => {
        const returned = run((error, result) => (error ? reject(error) : resolve(result.rows[0].n)));
        assert.equal(returned, undefined);
      });
    assert.equal(await withCallback((callback) => client.query(text, [5], callback)), 5);
    assert.equal(await withCallback((callback) => client.query('SELECT 6 AS n', callback)), 6);
    assert.equal(await withCallback((callback) => client.query({ text, values: [7] }, callback as never)), 7);
    const config = { text, values: [8], callback: undefined as unknown };
    assert.equal(
      await withCallback((callback) => {
        config.callback = callback;
        const result = client.query(config as never) as unknown;
        assert.equal(config.callback, callback, 'the caller finds its own callback in its object again');
        return result;
      }),
      8,
    );
    const query = new pg.Query('SELECT 9 AS n');
    assert.equal(client.query(query), query, 'a query object is returned as it is');
    const rows: unknown[] = [];
    query.on('row', (row: unknown) => rows.push(row));
    await new Promise((resolve) => query.on('end', resolve));
    assert.deepEqual(rows, [{ n: 9 }]);
  });
  assert.throws(() => client.query(null as never), /null or undefined query/);
  await client.end();
  assert.equal(recording.spans().filter((span) => span.name.startsWith('pg.query')).length, 9);
});

test('cursors and streams work as they do without us, and are recorded to their first part', async () => {
  const Cursor = require('pg-cursor');
  const QueryStream = require('pg-query-stream');
  const pool = newPool({ max: 1 });
  await request(async () => {
    const client = await pool.connect();
    await client.query('BEGIN');
    const cursor = client.query(new Cursor('SELECT generate_series(1, 5) AS n'));
    assert.equal((await cursor.read(3)).length, 3);
    await sleep(60);
    await cursor.close();
    const stream = client.query(new QueryStream('SELECT generate_series(1, 5) AS n'));
    let seen = 0;
    for await (const _row of stream) seen++;
    assert.equal(seen, 5);
    const failing = client.query(new Cursor('SELECT 1 / 0'));
    await assert.rejects(failing.read(1), { code: '22012' });
    await client.query('ROLLBACK');
    client.release();
  });
  await pool.end();
  assert.equal(openHolds(), 0);
  const spans = recording.spans().filter((span) => span.name.startsWith('pg.query:SELECT'));
  assert.deepEqual(
    spans.map((span) => span.attributes['error.type']),
    [undefined, undefined, '22012'],
  );
  // What the service does between two parts is not the database's time.
  assert.ok(spans[0].lengthMs < 60, `${spans[0].lengthMs} ms`);
});

/** A COPY from memory: drives the protocol itself, as pg-copy-streams does. */
class CopyIn {
  readonly done: Promise<number>;
  readonly text: string;
  readonly #rows: readonly string[];
  #resolve!: (rows: number) => void;
  #reject!: (error: Error) => void;
  #count = 0;

  constructor(text: string, rows: readonly string[]) {
    this.text = text;
    this.#rows = rows;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg's own connection has no types here
  submit(connection: any): void {
    connection.query(this.text);
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  handleCopyInResponse(connection: any): void {
    for (const row of this.#rows) connection.sendCopyFromChunk(Buffer.from(`${row}\n`));
    connection.endCopyFrom();
  }

  handleCommandComplete(message: { text: string }): void {
    this.#count = Number(/COPY (\d+)/.exec(message.text)?.[1]);
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#count);
  }

  handleError(error: Error): void {
    this.#reject(error);
  }
}

test('COPY: what drives the protocol itself is returned as it is, works, and is a statement', async () => {
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query('CREATE TEMPORARY TABLE copied (id int)');
  recording.clear();
  const { value } = await request(async () => {
    const copy = new CopyIn('COPY copied FROM STDIN', ['1', '2', '3']);
    // biome-ignore lint/suspicious/noExplicitAny: any submittable is allowed, the types name only pg's own
    assert.equal(client.query(copy as any), copy);
    const rows = await copy.done;
    const { rows: found } = await client.query('SELECT sum(id)::int AS sum FROM copied');
    return [rows, found[0].sum];
  });
  assert.deepEqual(value, [3, 6]);
  await client.end();
  assert.deepEqual(
    recording.spans().flatMap((span) => (span.name.startsWith('pg.query') ? [span.name.split(' ')[0]] : [])),
    ['pg.query:COPY', 'pg.query:SELECT'],
  );
});

test('errors are the same objects, and a stack leads to the caller', async () => {
  const pool = newPool({ max: 1 });
  await request(async () => {
    const error = await pool
      .query('SELECT * FROM nowhere')
      .catch((caught: Error & { code?: string }) => caught);
    assert.equal((error as { code?: string }).code, '42P01');
    assert.ok(error instanceof pg.DatabaseError);
    const client = await pool.connect();
    const direct = await client.query('SELECT * FROM nowhere').catch((caught: Error) => caught);
    assert.match((direct as Error).stack ?? '', /host-unchanged/);
    client.release();
  });
  await pool.end();
  const refused = new pg.Pool({ host: '127.0.0.1', port: 1, max: 1 });
  const error = await request(() => refused.connect().catch((caught: Error) => caught));
  assert.match((error.value as Error).stack ?? '', /host-unchanged/);
  await refused.end();
});

test('a broken configuration throws where it threw, and holds nothing', async () => {
  class Broken extends pg.Client {
    constructor() {
      super();
      throw new Error('no client');
    }
  }
  const pool = new pg.Pool({ Client: Broken as never, max: 1 });
  assert.throws(() => pool.connect(), /no client/);
  assert.equal(openHolds(), 0);
});

test('unhandled rejections are as many as without us', async () => {
  const script = `
    const pg = require('pg');
    let seen = 0;
    process.on('unhandledRejection', () => seen++);
    const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1 });
    pool.query('SELECT * FROM nowhere');
    pool.connect().then((client) => {
      client.query('SELECT * FROM nowhere');
      client.query('BEGIN; SELECT * FROM nowhere FOR UPDATE');
      const done = () => client.release();
      client.query('SELECT 1').then(done, done);
    });
    new pg.Pool({ host: '127.0.0.1', port: 1 }).connect();
    const startedMs = Date.now();
    const look = () => {
      if (seen < 4 && Date.now() - startedMs < 20_000) return setTimeout(look, 50);
      // One too many would come soon after.
      setTimeout(() => pool.end().then(() => console.log(seen)), 200);
    };
    look();`;
  const register = fileURLToPath(new URL('../../instrumentation/src/register.ts', import.meta.url));
  const run = async (flags: string[]) => {
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, '-e', script], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      env: { ...process.env, DATABASE_URL: database.url, WAITFALL_TRACE_FILE: '/dev/null' },
      timeout: 30_000,
    });
    return stdout;
  };
  const plain = await run([]);
  assert.equal(plain, '4\n');
  assert.equal(await run(['--conditions=waitfall-source', '--import', register]), plain);
});

test('no listeners are added to pools and clients, and functions look like themselves', async () => {
  const pool = newPool({ max: 1 });
  const client = await pool.connect();
  const counts = () => [pool.eventNames().length, client.eventNames().length, client.listenerCount('error')];
  const untouched = counts();
  await request(() => client.query('SELECT 1'));
  assert.deepEqual(counts(), untouched);
  assert.deepEqual(pool.eventNames(), []);
  client.release();
  await pool.end();
  assert.equal(pg.Client.prototype.query.name, 'query');
  assert.equal(pg.Client.prototype.query.length, 3);
  assert.equal(pg.Pool.prototype.connect.length, 1);
});

test('contexts are entered for the length of a call only', async () => {
  const pool = newPool({ max: 1 });
  const key = createContextKey('mine');
  const holder = await pool.connect();
  let inside: unknown;
  let afterQuery: unknown;
  const waiter = request((active) =>
    context.with(
      active.setValue(key, 'waiter'),
      () =>
        new Promise<void>((resolve) => {
          pool.connect((_error, client, release) => {
            inside = context.active().getValue(key);
            client?.query('SELECT 1', () => {
              afterQuery = context.active().getValue(key);
              release();
              resolve();
            });
          });
        }),
    ),
  );
  context.with(context.active().setValue(key, 'releaser'), () => {
    holder.release();
    assert.equal(
      context.active().getValue(key),
      'releaser',
      'after the release the releaser has its own context',
    );
  });
  await waiter;
  assert.equal(inside, 'waiter');
  assert.equal(afterQuery, 'waiter');
  assert.equal(context.active().getValue(key), undefined);
  await pool.end();
});

test('a connection that comes after its waiter gave up changes nothing', async () => {
  const sockets: { destroy(): void }[] = [];
  const slow = createServer((socket) => sockets.push(socket));
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
  const { port } = slow.address() as { port: number };
  const pool = new pg.Pool({
    host: '127.0.0.1',
    port,
    max: 2,
    connectionTimeoutMillis: 50,
    database: 'late',
  });
  const failures = await Promise.all(
    Array.from({ length: 4 }, () => request(() => pool.connect().catch((error: Error) => error))),
  );
  for (const socket of sockets) socket.destroy();
  await sleep(50);
  for (const { traceId } of failures) {
    const spans = recording.spans().filter((span) => span.traceId === traceId);
    const timeouts = spans.filter((span) => span.attributes['waitfall.outcome'] === 'timeout');
    assert.equal(timeouts.length, 1, 'one timeout each: in the queue or while connecting');
  }
  assert.equal(openHolds(), 0);
  await pool.end();
  slow.close();
});

test('a slot that is lost because BEGIN fails outside of try is seen', async () => {
  const { setHoldWarnMs } = await import('../../instrumentation/src/pg/pool-wait.ts');
  const said: string[] = [];
  const write = process.stderr.write;
  process.stderr.write = ((text: string) => said.push(String(text)) > 0) as typeof write;
  setHoldWarnMs(60);
  const pool = newPool({ max: 1, application_name: 'leaky' });
  const { traceId, value: client } = await request(() => pool.connect());
  await sleep(200);
  process.stderr.write = write;
  setHoldWarnMs(60_000);
  assert.equal(openHolds(), 1);
  assert.equal(said.length, 1, 'said once');
  assert.match(said[0], /pg-pool:leaky is held for more than/);
  assert.ok(said[0].includes(traceId));
  client.release();
  await pool.end();
});

test('two pools never share a name, and none holds a password', async () => {
  const options = { max: 1, application_name: 'twin' };
  const pools = [newPool(options), newPool(options), newPool({ ...options, 'waitfall.name': 'reports' })];
  for (const pool of pools) await request(() => pool.query('SELECT 1'));
  const names = [
    ...new Set(recording.segment('pool_wait').map((span) => span.attributes['waitfall.resource'])),
  ];
  const { hostname, port, password } = new URL(database.url);
  assert.deepEqual(names, ['pg-pool:twin', `pg-pool:twin@${hostname}:${port}`, 'pg-pool:reports']);
  assert.ok(!JSON.stringify(recording.spans()).includes(password));
  await Promise.all(pools.map((pool) => pool.end()));
  const later = newPool(options);
  recording.clear();
  await request(() => later.query('SELECT 1'));
  assert.equal(
    recording.segment('pool_wait')[0].attributes['waitfall.resource'],
    'pg-pool:twin',
    'a name is free again',
  );
  await later.end();
});

test('nothing stays open after many requests that end in every way', async () => {
  // With all the time it takes.
  const before = newPool({ max: 1 });
  await before.query('CREATE TABLE soak (id int PRIMARY KEY, n int)');
  await before.query('INSERT INTO soak SELECT g, 0 FROM generate_series(1, 5) g');
  await before.end();
  const pool = newPool({ max: 3, connectionTimeoutMillis: 200 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const one = async (i: number) => {
    const client = await pool.connect();
    let failure: Error | undefined;
    try {
      await client.query('BEGIN');
      await client.query("SET LOCAL lock_timeout = '5ms'");
      await client.query('UPDATE soak SET n = n + 1 WHERE id = $1', [1 + (i % 5)]);
      if (i % 7 === 0) await client.query('SELECT 1 / 0');
      if (i % 11 === 0) await client.query('SELECT pg_terminate_backend(pg_backend_pid())');
      await client.query('COMMIT');
    } catch (error) {
      failure = error as Error;
      await client.query('ROLLBACK').catch(() => {});
    } finally {
      client.release(i % 11 === 0 ? failure : undefined);
    }
  };
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 15 }, (_, i) => request(() => one(round * 15 + i).catch(() => {}))),
    );
  }
  assert.equal(openHolds(), 0);
  assert.equal(openLocks(), 0);
  await pool.end();
});

test('a library version nobody knows is left alone, and said once', () => {
  const said: string[] = [];
  const write = process.stderr.write;
  process.stderr.write = ((text: string) => said.push(String(text)) > 0) as typeof write;
  try {
    const range = { from: [8, 0, 3], below: 9 } as const;
    assert.equal(isSupported('a', '8.0.3', range), true);
    assert.equal(isSupported('a', '8.23.1', range), true);
    assert.equal(isSupported('a', undefined, range), true);
    assert.equal(isSupported('b', '8.0.2', range), false);
    assert.equal(isSupported('b', '9.0.0', range), false);
    assert.equal(isSupported('b', '9.0.0-beta.1', range), false);
    assert.deepEqual(said.length, 1);
    assert.match(said[0], /b 8\.0\.2 is not a version this package knows/);
  } finally {
    process.stderr.write = write;
  }
});

test('the self-check tells a set-up that records nothing from one that does', () => {
  assert.equal(check(['/app/node_modules/pg/lib/index.js']), null);
  const said: string[] = [];
  const write = process.stderr.write;
  process.stderr.write = ((text: string) => said.push(String(text)) > 0) as typeof write;
  const message = check(['/app/dist/bundle.js']);
  process.stderr.write = write;
  assert.match(message ?? '', /none of the libraries .* was loaded: in a bundle/);
});
