import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { openLocks } from '../../instrumentation/src/pg/locks/connection-locks.ts';
import type { Database } from '../../sample-app/src/postgres/database.ts';
import { type Recorded, type Recording, request, startRecording } from './support/recording.ts';

const HOLD_MS = 60;
const HEAD_START_MS = 15;

let recording: Recording;
let database: Database;
let pg: typeof import('pg');
let url: string;

before(async () => {
  recording = startRecording();
  pg = createRequire(import.meta.url)('pg');
  const { openDatabase } = await import('../../sample-app/src/postgres/database.ts');
  database = await openDatabase();
  url = await database.createSchema('locks');
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
  // The first statements of a connection load the server's catalogs, which looks like a wait.
  await client.end();
});
after(async () => {
  await database?.close();
  await recording?.stop();
});
beforeEach(() => recording.clear());

async function connected(): Promise<Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

type Statement = string | [string, unknown[]] | { name: string; text: string; values: unknown[] };

function run(client: Client, statement: Statement): Promise<{ rowCount: number | null }> {
  if (Array.isArray(statement)) return client.query(statement[0], statement[1]);
  return client.query(statement as string);
}

interface Scenario {
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
}

interface Observed {
  realMs: number;
  wait: Recorded | undefined;
  traceA: string;
  traceB: string;
  errorB: string | undefined;
}

async function play(scenario: Scenario): Promise<Observed> {
  const [a, b] = await Promise.all([connected(), connected()]);
  await Promise.all([a, b].map((client) => client.query('SELECT count(*) FROM t')));
  recording.clear();
  const begin = scenario.isolation ? `BEGIN ISOLATION LEVEL ${scenario.isolation}` : 'BEGIN';
  let realMs = 0;
  let errorB: string | undefined;
  const locked = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const [first, second] = await Promise.all([
    request(async () => {
      await a.query(begin);
      try {
        for (const statement of scenario.before ?? []) await run(a, statement);
        await run(a, scenario.a);
        locked.resolve();
        await sent.promise;
        const held = sleep(scenario.holdMs ?? HOLD_MS);
        await (scenario.untilAnswered ? Promise.race([held, answered.promise]) : held);
        for (const statement of scenario.after ?? []) await run(a, statement);
        if (scenario.after) await sleep(HOLD_MS / 2);
      } catch {
        await sleep(HOLD_MS / 2);
      }
      await a.query(scenario.end ?? 'COMMIT');
    }),
    request(async () => {
      await locked.promise;
      await sleep(HEAD_START_MS);
      if (!scenario.autocommitB) await b.query(begin);
      for (const statement of scenario.beforeB ?? []) await run(b, statement);
      const sentMs = performance.now();
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
  const waits = recording.segment('lock_wait').filter((s) => s.traceId === second.traceId && s.lengthMs > 1);
  assert.ok(waits.length <= 1);
  return { realMs, wait: waits[0], traceA: first.traceId, traceB: second.traceId, errorB };
}

const byId = (id: number): Statement => ['UPDATE t SET n = n + 1 WHERE id = $1', [id]];
const upsert = (key: string): Statement => [
  'INSERT INTO counter (k, v) VALUES ($1, 1) ON CONFLICT (k) DO UPDATE SET v = counter.v + 1',
  [key],
];
const named = { name: 'touch', text: 'UPDATE t SET n = n + 1 WHERE id = $1', values: [2] };

/** B really waits, and the wait is found with about its real length. */
const FOUND: Record<string, Scenario> = {
  'the same row': { a: byId(1), b: byId(1) },
  'named statements': { a: named, b: named },
  'a literal and a parameter': { a: 'UPDATE t SET n = n + 1 WHERE id = 3', b: byId(3) },
  'a text and a number': { a: ['UPDATE t SET n = n + 1 WHERE id = $1', ['3']], b: byId(3) },
  'FOR UPDATE, then UPDATE': { a: ['SELECT * FROM t WHERE id = $1 FOR UPDATE', [4]], b: byId(4) },
  'FOR SHARE, then UPDATE': { a: ['SELECT * FROM t WHERE id = $1 FOR SHARE', [12]], b: byId(12) },
  'a lock in a CTE': {
    a: [
      'WITH l AS (SELECT id FROM t WHERE id = $1 FOR UPDATE) UPDATE t SET n = 1 FROM l WHERE t.id = l.id',
      [5],
    ],
    b: byId(5),
  },
  'upserts of an existing row': { a: upsert('k1'), b: upsert('k1') },
  'upserts of a new row': { a: upsert('new'), b: upsert('new') },
  'key and filter': { a: ['UPDATE t SET n = n + 1 WHERE id = $1 AND grp = $2', [8, 2]], b: byId(8) },
  'lists that overlap': {
    a: ['UPDATE t SET n = n + 1 WHERE id IN ($1, $2)', [9, 10]],
    b: ['UPDATE t SET n = n + 1 WHERE id = ANY($1)', [[10, 11]]],
  },
  'a rollback': { a: byId(1), b: byId(1), end: 'ROLLBACK' },
  'ROLLBACK TO SAVEPOINT frees what came after it': {
    a: byId(1),
    b: byId(1),
    before: ['SAVEPOINT s1'],
    after: ['ROLLBACK TO SAVEPOINT s1'],
  },
  'what was locked before a savepoint stays': {
    a: byId(1),
    b: byId(1),
    after: ['SAVEPOINT s1', 'UPDATE t SET n = 1 WHERE id = 20', 'ROLLBACK TO s1'],
  },
  'an error frees the locks of its transaction': { a: byId(1), b: byId(1), after: ['SELECT 1 / 0'] },
  'several statements in one text': { a: 'UPDATE t SET n = n + 1 WHERE id = 17; SELECT 1', b: byId(17) },
  'the same predicate on no key': {
    a: ['UPDATE t SET n = n + 1 WHERE slug = $1', ['s30']],
    b: ['UPDATE t SET n = n + 1 WHERE slug = $1', ['s30']],
  },
  'an autocommit statement behind a transaction': { a: byId(1), b: byId(1), autocommitB: true },
  lock_timeout: { a: byId(1), b: byId(1), beforeB: ["SET LOCAL lock_timeout = '25ms'"], holdMs: 250 },
  statement_timeout: {
    a: byId(1),
    b: byId(1),
    beforeB: ["SET LOCAL statement_timeout = '25ms'"],
    holdMs: 250,
  },
  serializable: { a: byId(1), b: byId(1), isolation: 'SERIALIZABLE' },
  'repeatable read': { a: byId(1), b: byId(1), isolation: 'REPEATABLE READ' },
  'the last item was taken while B waited': {
    a: ['UPDATE t SET n = 5 WHERE id = $1 AND n = 0', [21]],
    b: ['UPDATE t SET n = 5 WHERE id = $1 AND n = 0', [21]],
  },
  'an advisory lock of the transaction': {
    a: ['SELECT pg_advisory_xact_lock($1)', [71]],
    b: 'SELECT pg_advisory_xact_lock(71)',
  },
  'an advisory lock of two numbers, shared by one': {
    a: ['SELECT pg_advisory_xact_lock_shared($1, $2)', [7, 8]],
    b: ['SELECT pg_advisory_xact_lock($1, $2)', [7, 8]],
  },
  'an advisory lock of the session, given back within the transaction': {
    a: ['SELECT pg_advisory_lock($1)', [72]],
    b: ['SELECT pg_advisory_xact_lock($1)', [72]],
    after: ['SELECT pg_advisory_unlock(72)'],
  },
  'a child of a parent that is locked for deletion': {
    a: ['SELECT * FROM parent WHERE id = $1 FOR UPDATE', [3]],
    b: ['INSERT INTO child (parent_id) VALUES ($1)', [3]],
  },
  deadlock: {
    a: byId(23),
    b: byId(23),
    beforeB: [byId(24)],
    after: [byId(24)],
  },
};

for (const [name, scenario] of Object.entries(FOUND)) {
  test(`found: ${name}`, async () => {
    const { realMs, wait, traceA, errorB } = await play(scenario);
    assert.ok(realMs > 10, `B did wait (${realMs} ms)`);
    assert.ok(wait, 'a lock_wait span');
    // The statement itself, its round trip and the machine's other load are not part of the wait.
    assert.ok(wait.lengthMs <= realMs + 0.5, `${wait.lengthMs} ms of ${realMs} ms`);
    assert.ok(wait.lengthMs > realMs * 0.6 - 2, `${wait.lengthMs} ms of ${realMs} ms`);
    const min = (wait.attributes['waitfall.estimate.min_ns'] as number) / 1e6;
    const max = (wait.attributes['waitfall.estimate.max_ns'] as number) / 1e6;
    assert.ok(
      min <= wait.lengthMs + 0.001 && wait.lengthMs <= max + 0.001,
      `${min} <= ${wait.lengthMs} <= ${max}`,
    );
    if (!scenario.autocommitB && errorB === undefined) {
      assert.deepEqual(
        wait.links.map((link) => [link.traceId, link.attributes['waitfall.link']]),
        [[traceA, 'blocked_by']],
      );
    }
  });
}

/** Nothing waits, and nothing is claimed. */
const SILENT: Record<string, Scenario> = {
  'another row': { a: byId(1), b: byId(2) },
  'FOR SHARE twice': {
    a: ['SELECT * FROM t WHERE id = $1 FOR SHARE', [12]],
    b: ['SELECT * FROM t WHERE id = $1 FOR SHARE', [12]],
  },
  'FOR KEY SHARE under UPDATE': { a: byId(12), b: ['SELECT * FROM t WHERE id = $1 FOR KEY SHARE', [12]] },
  NOWAIT: { a: byId(1), b: ['SELECT * FROM t WHERE id = $1 FOR UPDATE NOWAIT', [1]] },
  'SKIP LOCKED': {
    a: ['SELECT * FROM t WHERE id = $1 FOR UPDATE SKIP LOCKED', [13]],
    b: ['SELECT * FROM t WHERE id = $1 FOR UPDATE SKIP LOCKED', [13]],
  },
  'a queue with SKIP LOCKED': {
    a: ['SELECT * FROM t WHERE grp = $1 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED', [2]],
    b: ['SELECT * FROM t WHERE grp = $1 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED', [2]],
  },
  'a child of an updated parent': {
    a: ['UPDATE parent SET n = n + 1 WHERE id = $1', [2]],
    b: ['INSERT INTO child (parent_id) VALUES ($1)', [2]],
  },
  'another advisory lock': {
    a: ['SELECT pg_advisory_xact_lock($1)', [73]],
    b: ['SELECT pg_advisory_xact_lock($1)', [74]],
  },
  'an advisory lock that is only tried': {
    a: ['SELECT pg_advisory_xact_lock($1)', [75]],
    b: ['SELECT pg_try_advisory_xact_lock($1)', [75]],
  },
  'advisory locks shared by both': {
    a: ['SELECT pg_advisory_xact_lock_shared($1)', [76]],
    b: ['SELECT pg_advisory_xact_lock_shared($1)', [76]],
  },
  'updates of no row': {
    a: ['UPDATE t SET n = n + 1 WHERE id = $1 AND n < 0', [15]],
    b: ['UPDATE t SET n = n + 1 WHERE id = $1 AND n < 0', [15]],
  },
};

for (const [name, scenario] of Object.entries(SILENT)) {
  test(`silent: ${name}`, async () => {
    const { realMs, wait } = await play({ ...scenario, holdMs: 2_000, untilAnswered: true });
    assert.ok(realMs < 2_000, `B did not wait (${realMs} ms)`);
    assert.equal(wait, undefined);
  });
}

/** B waits for what no text tells: then nothing is claimed either. */
const MISSED: Record<string, Scenario> = {
  'the same row by another column': { a: ['UPDATE t SET n = n + 1 WHERE slug = $1', ['s6']], b: byId(6) },
  'a predicate that is no key': { a: ['UPDATE t SET n = n + 1 WHERE grp = $1', [1]], b: byId(7) },
  'a function that locks': { a: ['SELECT lock_in_function($1)', [14]], b: byId(14) },
  'LOCK TABLE': { a: 'LOCK TABLE t IN EXCLUSIVE MODE', b: byId(16) },
};

for (const [name, scenario] of Object.entries(MISSED)) {
  test(`not seen, and nothing claimed: ${name}`, async () => {
    const { realMs, wait } = await play(scenario);
    assert.ok(realMs > 10);
    assert.equal(wait, undefined);
  });
}

test('a hold lasts from the grant to the COMMIT, and is written even where nobody waited', async () => {
  const { traceA } = await play({ a: byId(30), b: byId(31) });
  const [hold] = recording.segment('lock_wait').filter((span) => span.traceId === traceA);
  assert.equal(hold.lengthMs, 0);
  assert.equal(hold.name, 'wait_for lock:t');
  assert.equal(hold.attributes['waitfall.resource.capacity'], 1);
  assert.equal(hold.attributes['waitfall.outcome'], 'acquired');
  const heldMs = (hold.attributes['waitfall.hold.duration_ns'] as number) / 1e6;
  assert.ok(heldMs >= HOLD_MS - 5 && heldMs < HOLD_MS * 3, `${heldMs} ms`);
});

test('how a refused wait ended is said, and it has no hold', async () => {
  for (const [setting, outcome, code] of [
    ["SET LOCAL lock_timeout = '25ms'", 'timeout', '55P03'],
    ["SET LOCAL statement_timeout = '25ms'", 'timeout', '57014'],
  ]) {
    const { wait } = await play({ a: byId(1), b: byId(1), beforeB: [setting], holdMs: 250 });
    assert.equal(wait?.attributes['waitfall.outcome'], outcome);
    assert.equal(wait?.attributes['error.type'], code);
    assert.equal(wait?.attributes['waitfall.hold.duration_ns'], undefined);
    assert.equal(wait?.failed, true);
  }
  const { wait } = await play({ a: byId(1), b: byId(1), isolation: 'SERIALIZABLE' });
  assert.equal(wait?.attributes['waitfall.outcome'], 'aborted');
  assert.equal(wait?.failed, false);
});

test('an advisory lock of the session is held until it is given back, beyond its transaction', async () => {
  const client = await connected();
  const { traceId } = await request(async () => {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_lock(81)');
    await client.query('COMMIT');
    await sleep(40);
    assert.equal(openLocks(), 1);
    await client.query('SELECT pg_advisory_unlock(81)');
  });
  assert.equal(openLocks(), 0);
  const [hold] = recording.segment('lock_wait').filter((span) => span.traceId === traceId);
  assert.equal(hold.attributes['waitfall.resource'], 'lock:advisory');
  assert.ok((hold.attributes['waitfall.hold.duration_ns'] as number) >= 40e6 - 5e5);
  recording.clear();
  await request(() => client.query('SELECT pg_advisory_lock(82)'));
  await client.end();
  assert.equal(openLocks(), 0);
  assert.equal(recording.segment('lock_wait').length, 1);
});

test('a guessed parent is said to be an estimate, and never a hold', async () => {
  const { wait } = await play({
    a: ['DELETE FROM parent WHERE id = $1', [9]],
    b: ['INSERT INTO child (parent_id) VALUES ($1)', [9]],
    end: 'ROLLBACK',
  });
  assert.equal(wait?.attributes['waitfall.resource'], 'lock:parent');
  assert.equal(wait?.attributes['waitfall.estimated'], true);
  assert.equal(wait?.attributes['waitfall.hold.duration_ns'], undefined);
});

test('autocommit: estimated, no link of its own order, no hold', async () => {
  const clients = await Promise.all([connected(), connected(), connected()]);
  recording.clear();
  await Promise.all(
    clients.map((client) => request(() => client.query('UPDATE t SET n = n + 1 WHERE id = $1', [33]))),
  );
  await Promise.all(clients.map((client) => client.end()));
  assert.equal(recording.segment('lock_wait').length, 3, 'every visit is counted, whether it waited or not');
  for (const span of recording.segment('lock_wait')) {
    assert.equal(span.attributes['waitfall.estimated'], true);
    assert.equal(span.attributes['waitfall.hold.duration_ns'], undefined);
    assert.equal(span.links.length, 0);
  }
});

test('the waiter tells what its blocker ran, was doing, and for how long', async () => {
  const { wait } = await play({ a: byId(1), b: byId(1) });
  assert.equal(wait?.attributes['waitfall.blocker.statement'], 'UPDATE t');
  assert.equal(wait?.attributes['waitfall.blocker.state'], 'idle in transaction');
  assert.ok((wait?.attributes['waitfall.blocker.age_ns'] as number) > 0);
});

test('a connection that is lost frees its locks', async () => {
  const [a, b] = await Promise.all([connected(), connected()]);
  const lost = await request(async () => {
    await a.query('BEGIN');
    await run(a, byId(35));
    await sleep(HOLD_MS);
    await a.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => {});
  });
  assert.equal(openLocks(), 0);
  const [hold] = recording.segment('lock_wait').filter((span) => span.traceId === lost.traceId);
  assert.ok((hold.attributes['waitfall.hold.duration_ns'] as number) / 1e6 >= HOLD_MS - 5);
  await b.end();
});

test('keys are hashed: equal for equal rows, and no value or parameter is in any span', async () => {
  const secret = 'secret-customer-4711';
  const client = await connected();
  recording.clear();
  for (let i = 0; i < 2; i++) {
    await request(async () => {
      await client.query('BEGIN');
      await run(client, upsert(secret));
      await run(client, ['SELECT * FROM counter WHERE k = $1 FOR UPDATE', [`${secret}-other`]]);
      await client.query('COMMIT');
    });
  }
  await client.end();
  const keys = recording.segment('lock_wait').map((span) => span.attributes['waitfall.lock.key']);
  assert.equal(keys.length, 2);
  assert.equal(new Set(keys).size, 1);
  assert.match(String(keys[0]), /^[0-9a-f]{16}$/);
  const password = new URL(url).password;
  const exported = JSON.stringify(recording.spans());
  assert.ok(!exported.includes(secret), 'a parameter is in an exported span');
  assert.ok(!exported.includes(password), 'the password is in an exported span');
});

test('on a hot row the waits agree with the server', async () => {
  const workers = 8;
  const rounds = 6;
  const truthMs: number[] = [];
  const clients = await Promise.all(Array.from({ length: workers }, connected));
  const text = `UPDATE t SET n = n + 1 WHERE id = $1
    RETURNING extract(epoch FROM clock_timestamp() - statement_timestamp())::float8 * 1000 AS waited`;
  const turn = (client: Client, id: number) =>
    request(async () => {
      await client.query('BEGIN');
      const { rows } = await client.query(text, [id]);
      await sleep(4);
      await client.query('COMMIT');
      return rows[0].waited as number;
    });
  await Promise.all(clients.map((client, index) => turn(client, index + 1)));
  recording.clear();
  const truth = new Map<string, number>();
  await Promise.all(
    clients.map(async (client) => {
      for (let round = 0; round < rounds; round++) {
        const { traceId, value } = await turn(client, 36);
        truth.set(traceId, value);
        truthMs.push(value);
      }
    }),
  );
  await Promise.all(clients.map((client) => client.end()));
  const waits = new Map(recording.segment('lock_wait').map((span) => [span.traceId, span]));
  let seen = 0;
  let contended = 0;
  const errorsMs: number[] = [];
  for (const [traceId, waitedMs] of truth) {
    if (waitedMs < 2) continue;
    contended++;
    const span = waits.get(traceId);
    if (span === undefined || span.lengthMs === 0) continue;
    seen++;
    errorsMs.push(Math.abs(span.lengthMs - waitedMs));
  }
  errorsMs.sort((a, b) => a - b);
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, value) => total + value, 0);
  const estimated = sum([...waits.values()].map((span) => span.lengthMs));
  assert.ok(contended > workers, `${contended} waits`);
  assert.ok(seen >= contended * 0.95, `${seen} of ${contended} waits seen`);
  assert.ok(errorsMs[errorsMs.length >> 1] < 5, `median error ${errorsMs[errorsMs.length >> 1]} ms`);
  const ratio = estimated / sum(truthMs);
  assert.ok(ratio > 0.8 && ratio < 1.2, `sum of waits: ${ratio} of the server's`);
  assert.equal(openLocks(), 0);
});

test('a row that is shared first and changed then is held from the change on', async () => {
  const holder = await connected();
  const other = await connected();
  // A child of a row that somebody holds seems to wait for it: from then on the row is known.
  for (const first of [
    'INSERT INTO child (parent_id) VALUES (7)',
    'SELECT n FROM parent WHERE id = 7 FOR SHARE',
  ]) {
    recording.clear();
    await request(async () => {
      await other.query('BEGIN');
      await other.query('SELECT n FROM parent WHERE id = 7 FOR KEY SHARE');
      await holder.query('BEGIN');
      await holder.query(first);
      await holder.query('UPDATE parent SET n = n + 1 WHERE id = 7');
      await sleep(20);
      await holder.query('COMMIT');
      await other.query('COMMIT');
    });
    const [hold, ...more] = recording
      .segment('lock_wait')
      .filter((span) => span.attributes['waitfall.hold.duration_ns'] !== undefined);
    assert.deepEqual(more, [], first);
    assert.ok(hold, `${first}: no hold`);
    assert.equal(hold.name, 'wait_for lock:parent');
    assert.ok((hold.attributes['waitfall.hold.duration_ns'] as number) >= 19e6);
  }
  await holder.end();
  await other.end();
});
