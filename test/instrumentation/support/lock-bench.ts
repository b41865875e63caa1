import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { openLocks } from '../../../instrumentation/src/pg/locks/connection-locks.ts';
import type { Database } from '../../../sample-app/src/postgres/database.ts';
import { type Recorded, type Recording, request, startRecording } from './recording.ts';

/** How long A holds what B wants, and how much earlier it comes. */
export const HOLD_MS = 60;
const HEAD_START_MS = 15;

/** The database of one test file, and what is recorded of it. */
export const bench: { recording: Recording; url: string } = {} as never;
let database: Database;
let pg: typeof import('pg');

/** To be called once by a test file: registers what comes before and after its tests. */
export function useLockBench(): void {
  before(async () => {
    bench.recording = startRecording();
    pg = createRequire(import.meta.url)('pg');
    const { openDatabase } = await import('../../../sample-app/src/postgres/database.ts');
    database = await openDatabase();
    bench.url = await database.createSchema('locks');
    const client = await connected();
    await client.query(`
      CREATE TABLE t (id int PRIMARY KEY, slug text UNIQUE, grp int, n int NOT NULL DEFAULT 0);
      INSERT INTO t SELECT g, 's' || g, g % 3, 0 FROM generate_series(1, 40) g;
      CREATE TABLE counter (k text PRIMARY KEY, v int);
      INSERT INTO counter SELECT 'k' || g, 0 FROM generate_series(1, 10) g;
      CREATE TABLE parent (id int PRIMARY KEY, n int NOT NULL DEFAULT 0);
      INSERT INTO parent SELECT g FROM generate_series(1, 10) g;
      CREATE TABLE child (id serial PRIMARY KEY, parent_id int REFERENCES parent (id));
      CREATE FUNCTION lock_in_function(i int) RETURNS int LANGUAGE sql AS
        $$ UPDATE t SET n = n + 1 WHERE id = i RETURNING n $$;
    `);
    await client.end();
  });
  after(async () => {
    await database?.close();
    await bench.recording?.stop();
  });
  beforeEach(() => bench.recording.clear());
}

export async function connected(options: object = {}): Promise<Client> {
  const client = new pg.Client({ connectionString: bench.url, ...options });
  client.on('error', () => {});
  await client.connect();
  return client;
}

export type Statement = string | [string, unknown[]] | { name: string; text: string; values: unknown[] };

export function run(client: Client, statement: Statement): Promise<{ rowCount: number | null }> {
  if (Array.isArray(statement)) return client.query(statement[0], statement[1]);
  return client.query(statement as string);
}

export interface Scenario {
  /** Statement of A, and of B 15 ms later; A holds for another 60 ms. */
  a: Statement;
  b: Statement;
  /** In A's transaction before the statement, and after the hold. */
  before?: Statement[];
  after?: Statement[];
  end?: 'COMMIT' | 'ROLLBACK';
  beforeB?: Statement[];
  autocommitB?: boolean;
  isolation?: string;
  /** Default 60. */
  holdMs?: number;
  /** A holds until B is answered, if that is before `holdMs`. */
  untilAnswered?: boolean;
  /** Which statement frees the row: A's end (default), its first after the hold, or B's own limit ends the wait. */
  freedBy?: 'end' | 'after' | 'limit';
  /** False where it leaves something that makes the next time another case. */
  repeatable?: boolean;
  /** With `limit`: B waits this long at least. */
  limitMs?: number;
}

export interface Observed {
  /** From B's call to its reply. */
  realMs: number;
  /** What B waited at least: until A called what freed the row. */
  blockedMs: number;
  /** How long A held at least, and at most: from reply to call, and from call to reply. */
  heldMs: [number, number];
  wait: Recorded | undefined;
  traceA: string;
  traceB: string;
  errorB: string | undefined;
}

/** Plays A and B against each other. @returns how long B really took, and the wait that was recorded. */
export async function play(scenario: Scenario): Promise<Observed> {
  const [a, b] = await Promise.all([connected(), connected()]);
  await Promise.all([a, b].map((client) => client.query('SELECT count(*) FROM t')));
  bench.recording.clear();
  const begin = scenario.isolation ? `BEGIN ISOLATION LEVEL ${scenario.isolation}` : 'BEGIN';
  let realMs = 0;
  let sentMs = 0;
  let afterMs = 0;
  const holder = { calledMs: 0, lockedMs: 0, endMs: 0, endedMs: 0 };
  let errorB: string | undefined;
  const locked = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const [first, second] = await Promise.all([
    request(async () => {
      await a.query(begin);
      try {
        for (const statement of scenario.before ?? []) await run(a, statement);
        holder.calledMs = performance.now();
        await run(a, scenario.a);
        holder.lockedMs = performance.now();
        locked.resolve();
        await sent.promise;
        const held = sleep(scenario.holdMs ?? HOLD_MS);
        await (scenario.untilAnswered ? Promise.race([held, answered.promise]) : held);
        afterMs = performance.now();
        for (const statement of scenario.after ?? []) await run(a, statement);
        if (scenario.after) await sleep(HOLD_MS / 2);
      } catch {
        await sleep(HOLD_MS / 2);
      }
      holder.endMs = performance.now();
      await a.query(scenario.end ?? 'COMMIT');
      holder.endedMs = performance.now();
    }),
    request(async () => {
      await locked.promise;
      await sleep(HEAD_START_MS);
      if (!scenario.autocommitB) await b.query(begin);
      for (const statement of scenario.beforeB ?? []) await run(b, statement);
      sentMs = performance.now();
      sent.resolve();
      await run(b, scenario.b).catch((error: { code?: string }) => {
        errorB = error.code;
      });
      realMs = performance.now() - sentMs;
      answered.resolve();
      if (!scenario.autocommitB) await b.query('COMMIT');
    }),
  ]);
  await Promise.all([a.end(), b.end()]);
  assert.equal(openLocks(), 0);
  const waits = bench.recording
    .segment('lock_wait')
    .filter((s) => s.traceId === second.traceId && s.lengthMs > 1);
  assert.ok(waits.length <= 1);
  const freedMs = scenario.freedBy === 'after' ? afterMs : holder.endMs;
  return {
    realMs,
    blockedMs: scenario.freedBy === 'limit' ? (scenario.limitMs ?? 0) : freedMs - sentMs,
    heldMs: [holder.endMs - holder.lockedMs, holder.endedMs - holder.calledMs],
    wait: waits[0],
    traceA: first.traceId,
    traceB: second.traceId,
    errorB,
  };
}

/** A statement that changes one row by its key. */
export const byId = (id: number): Statement => ['UPDATE t SET n = n + 1 WHERE id = $1', [id]];
export const upsert = (key: string): Statement => [
  'INSERT INTO counter (k, v) VALUES ($1, 1) ON CONFLICT (k) DO UPDATE SET v = counter.v + 1',
  [key],
];
