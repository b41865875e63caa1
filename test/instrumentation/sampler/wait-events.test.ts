/**
 * What a statement was seen doing, against statements that are made to do one thing: on a real server with a real disk.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type Postgres from 'postgres';
import { lockSamplerReport, stopLockSampler } from '../../../instrumentation/src/pg/sampler/start.ts';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';

const require = createRequire(import.meta.url);
let recording: Recording;
let database: Database;
let pg: typeof import('pg');
/** Stands for other processes; never looked at. */
let others: Postgres.Sql;

before(async () => {
  process.env['WAITFALL_PG_LOCKS'] = 'true';
  process.env['WAITFALL_ADAPTERS'] = 'false';
  recording = startRecording({ official: false });
  pg = require('pg');
  database = await openDatabase(process.env['WAITFALL_TEST_DATABASE'], {
    fsync: 'on',
    shared_buffers: '1MB',
    synchronous_commit: 'on',
  });
  others = require('postgres')(database.url, { max: 4, fetch_types: false, onnotice: () => {} });
  await others`CREATE TABLE entry (n int, text text)`;
  await others`CREATE TABLE large AS SELECT n, repeat('x', 500) AS text FROM generate_series(1, 40000) AS n`;
  await others.unsafe(`
    CREATE PROCEDURE commit_often(times int) LANGUAGE plpgsql AS $$ BEGIN
      FOR n IN 1..times LOOP INSERT INTO entry VALUES (n, 'committed'); COMMIT; END LOOP; END $$`);
});
after(async () => {
  stopLockSampler();
  await others?.end();
  await database?.close();
  await recording?.stop();
});
beforeEach(() => recording.clear());

type Client = InstanceType<typeof pg.Client>;

const looks = () => lockSamplerReport()?.databases[0]?.polls ?? 0;

/** @returns what the only statement of a request was seen doing, by name, with the number of looks. */
async function seenDoing(run: (client: Client) => Promise<unknown>): Promise<Map<string, number>> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const { traceId } = await request(() => run(client));
    const events = recording
      .spans()
      .filter((span) => span.traceId === traceId)
      .flatMap((span) => (span.attributes['waitfall.db.wait_events'] as string[] | undefined) ?? []);
    return new Map(
      events.map((text) => {
        const [name, count] = text.split(' ');
        return [name, Number(count)];
      }),
    );
  } finally {
    await client.end();
  }
}

/** Runs something again until it was seen doing what it does: the first look comes when the sampler has connected. */
async function untilSeen(
  name: RegExp,
  run: (client: Client) => Promise<unknown>,
): Promise<Map<string, number>> {
  let seen = new Map<string, number>();
  for (let tries = 0; tries < 20; tries++) {
    seen = await seenDoing(run);
    if ([...seen.keys()].some((event) => name.test(event))) return seen;
  }
  return assert.fail(`${name} was never seen: ${[...seen.keys()]}`);
}

const mostOf = (seen: Map<string, number>) => [...seen].sort((a, b) => b[1] - a[1])[0][0];

test('a statement that computes: CPU', async () => {
  const seen = await untilSeen(/^CPU$/, (client) =>
    client.query('SELECT sum(sqrt(n)) FROM generate_series(1, 3000000) AS n'),
  );
  assert.equal(mostOf(seen), 'CPU');
});

/** A COPY that gives its rows when it is told to: drives the protocol itself, as pg-copy-streams does. */
class CopyWhenTold {
  readonly text = 'COPY entry FROM STDIN';
  readonly done: Promise<void>;
  readonly #mayGive: Promise<unknown>;
  #resolve: () => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(mayGive: () => Promise<unknown>) {
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#mayGive = mayGive();
  }

  submit(connection: { query(text: string): void }): void {
    connection.query(this.text);
  }

  handleCopyInResponse(connection: { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void }): void {
    void this.#mayGive.then(() => {
      connection.sendCopyFromChunk(Buffer.from('1\tgiven\n'));
      connection.endCopyFrom();
    });
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#resolve();
  }

  handleError(error: Error): void {
    this.#reject(error);
  }
}

/** Waits until the server was asked some times more, or until it is clear that it will not be: then it is done again. */
async function moreLooks(count: number): Promise<void> {
  const enough = looks() + count;
  for (let tries = 0; tries < 100 && looks() < enough; tries++) await sleep(10);
}

test('a COPY that waits for its client: ClientRead', async () => {
  const seen = await untilSeen(/^ClientRead$/, async (client) => {
    const copy = new CopyWhenTold(() => moreLooks(4));
    client.query(copy as never);
    await copy.done;
  });
  assert.equal(mostOf(seen), 'ClientRead');
});

test('a statement that commits all the time: WALSync', async () => {
  await untilSeen(/^WALSync$/, (client) => client.query('CALL commit_often(300)'));
});

test('a statement that reads and sorts more than the server keeps: IO', async () => {
  await untilSeen(/^IO:\w+$/, async (client) => {
    await client.query("SET work_mem = '64kB'");
    recording.clear();
    await client.query(
      'SELECT count(*) FROM (SELECT text, n FROM large ORDER BY text, n DESC OFFSET 0) AS sorted',
    );
  });
});

test('a commit that waits for another process to write its WAL: LWLock', {
  skip: process.platform !== 'linux' && 'stops a process of the server in the middle of what it does',
}, async () => {
  const writer = await others.reserve();
  const [{ pid }] = await writer`SELECT pg_backend_pid() AS pid`;
  // Most of the time it writes, and holds what others need to write.
  const failed = assert.rejects(writer.unsafe('CALL commit_often(10000000)').execute(), { code: '57014' });
  try {
    const seen = await untilSeen(/^LWLock:\w+$/, async (client) => {
      process.kill(pid, 'SIGSTOP');
      const committed = client.query("INSERT INTO entry VALUES (0, 'waits')");
      // Where it was stopped without holding it, the commit is not held up, and this is done again.
      await Promise.race([committed, moreLooks(3)]);
      process.kill(pid, 'SIGCONT');
      await committed;
    });
    assert.match(mostOf(seen), /^LWLock:\w+$/);
  } finally {
    process.kill(pid, 'SIGCONT');
    await others`SELECT pg_cancel_backend(${pid}::int)`;
    await failed;
    writer.release();
  }
});
