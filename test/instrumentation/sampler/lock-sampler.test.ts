import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type Postgres from 'postgres';
import { lockSamplerReport, stopLockSampler } from '../../../instrumentation/src/pg/sampler/start.ts';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { assertBetween, moment } from '../support/moments.ts';
import { type Recorded, type Recording, request, startRecording } from '../support/recording.ts';

let recording: Recording;
let database: Database;
let pg: typeof import('pg');
/** Another client library stands for another process: nothing of what it does is recorded. */
let others: Postgres.Sql;

before(async () => {
  process.env['WAITFALL_PG_LOCKS'] = 'true';
  process.env['WAITFALL_ADAPTERS'] = 'false';
  recording = startRecording({ official: false });
  const require = createRequire(import.meta.url);
  pg = require('pg');
  database = await openDatabase(process.env['WAITFALL_TEST_DATABASE']);
  others = require('postgres')(database.url, { max: 8, fetch_types: false, onnotice: () => {} });
  await others`DROP TABLE IF EXISTS item, audit`;
  await others`CREATE TABLE item (id int PRIMARY KEY, stock int)`;
  await others`INSERT INTO item SELECT n, 100 FROM generate_series(1, 10) AS n`;
  await others`CREATE TABLE audit (item int, at timestamptz)`;
  await others.unsafe(`
    CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN UPDATE item SET stock = stock WHERE id = 9; RETURN NEW; END $$;
    CREATE TRIGGER note AFTER INSERT ON audit FOR EACH ROW EXECUTE FUNCTION note()`);
  await warmUp();
});
after(async () => {
  stopLockSampler();
  await others?.end();
  await database?.close();
  await recording?.stop();
});
beforeEach(() => recording.clear());

/** The sampler opens its connection when it is needed first. */
async function warmUp(): Promise<void> {
  await withClient(async (client) => {
    const deadlineMs = performance.now() + 5_000;
    while ((lockSamplerReport()?.databases[0]?.polls ?? 0) === 0 && performance.now() < deadlineMs)
      await request(() => client.query('SELECT pg_sleep(0.05)'));
  });
}

type Client = InstanceType<typeof pg.Client>;

async function withClient<T>(run: (client: Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

/** When the sampler was certainly among those who knew of a wait. */
interface Seen {
  /** Its first look that saw it lies before this, … */
  readonly firstByMs: number;
  /** … its last one after this. */
  readonly lastFromMs: number;
}

/** Waits until the sampler has seen somebody wait a few times: how long that takes is the machine's affair. */
async function seenWaiting(): Promise<Seen> {
  const looks = () => lockSamplerReport()?.databases[0]?.pollsWithWaits ?? 0;
  const atLeast = async (count: number) => {
    for (let tries = 0; looks() < count && tries < 3_000; tries++) await sleep(10);
    assert.ok(looks() >= count, 'the sampler saw nobody wait');
  };
  await atLeast(looks() + 1);
  const firstByMs = moment();
  await sleep(60);
  const lastFromMs = moment();
  // One look may be on its way: the one after it began after this.
  await atLeast(looks() + 2);
  return { firstByMs, lastFromMs };
}

/**
 * Somebody else takes locks, holds them until the sampler has seen who waits for them, and lets go.
 *
 * @returns when it has them. @see Seen, and when it begins to let go.
 */
async function heldByOthers(statement: string): Promise<{ ended: Promise<Seen & { letGoMs: number }> }> {
  let taken = () => {};
  const has = new Promise<void>((resolve) => {
    taken = resolve;
  });
  let released: (Seen & { letGoMs: number }) | undefined;
  const ended = others
    .begin(async (tx) => {
      await tx.unsafe(statement);
      taken();
      released = { ...(await seenWaiting()), letGoMs: moment() };
    })
    .then(() => released as Seen & { letGoMs: number });
  await has;
  return { ended };
}

function lockWait(traceId: string): Recorded {
  const found = recording
    .segment('lock_wait')
    .filter((span) => span.traceId === traceId && span.lengthMs > 0);
  assert.equal(found.length, 1, `${found.length} waits: ${found.map((span) => span.name)}`);
  return found[0];
}

/**
 * Runs a statement into a lock of somebody else's. What is recorded lies between what the test did and saw on both sides:
 * the wait begins with the call and before the sampler had seen it, ends after the last look that the holder waited for and
 * with the answer, and its bounds hold the true length, which is between those of the test.
 */
async function assertSeen(holds: string, waits: string, resource: string): Promise<Recorded> {
  return withClient(async (client) => {
    const { ended } = await heldByOthers(holds);
    let [calledMs, answeredMs] = [0, 0];
    const { traceId } = await request(async () => {
      calledMs = moment();
      await client.query(waits);
      answeredMs = moment();
    });
    const { firstByMs, lastFromMs, letGoMs } = await ended;
    await client.query('SELECT pg_advisory_unlock_all()');
    const wait = lockWait(traceId);
    assert.equal(wait.attributes['waitfall.resource'], resource);
    assert.equal(wait.attributes['waitfall.outcome'], 'acquired');
    assert.equal(wait.attributes['waitfall.estimated'], true);
    assertBetween(wait.startMs, calledMs, firstByMs, 'the wait begins');
    assertBetween(wait.endMs, lastFromMs, answeredMs, 'the wait ends');
    const [minMs, maxMs] = ['min', 'max'].map(
      (end) => (wait.attributes[`waitfall.estimate.${end}_ns`] as number) / 1e6,
    );
    assert.ok(minMs <= wait.lengthMs + 0.001 && maxMs >= wait.lengthMs - 0.001, `${minMs} to ${maxMs} ms`);
    assertBetween(minMs, 0, answeredMs - calledMs, 'the lower bound');
    assertBetween(maxMs, letGoMs - firstByMs, answeredMs - calledMs, 'the upper bound');
    return wait;
  });
}

test('a row that another process holds', async () => {
  const wait = await assertSeen(
    'UPDATE item SET stock = stock - 1 WHERE id = 1',
    'UPDATE item SET stock = stock - 1 WHERE id = 1',
    'lock:item',
  );
  assert.equal(wait.attributes['waitfall.blocker.statement'], 'UPDATE item');
  assert.equal(wait.attributes['waitfall.blocker.state'], 'idle in transaction');
  assert.match(String(wait.attributes['waitfall.db.wait_events']), /Lock:(transactionid|tuple) \d+/);
});

test('a row that a trigger wants: no text says so', async () => {
  await assertSeen(
    'UPDATE item SET stock = 1 WHERE id = 9',
    'INSERT INTO audit VALUES (1, now())',
    'lock:item',
  );
});

test('an advisory lock, and a table lock', async () => {
  const advisory = await assertSeen(
    'SELECT pg_advisory_xact_lock(7)',
    'SELECT pg_advisory_lock(7)',
    'lock:advisory',
  );
  assert.equal(advisory.attributes['waitfall.resource.capacity'], 1);
  await assertSeen('LOCK TABLE item IN ACCESS EXCLUSIVE MODE', 'SELECT count(*) FROM item', 'lock:item');
});

test('the wait for a row and its hold are one span', async () => {
  await withClient(async (client) => {
    const { ended } = await heldByOthers('UPDATE item SET stock = 5 WHERE id = 2');
    const { traceId } = await request(async () => {
      await client.query('BEGIN');
      await client.query('UPDATE item SET stock = 6 WHERE id = 2');
      await sleep(60);
      await client.query('COMMIT');
    });
    await ended;
    const spans = recording.segment('lock_wait').filter((span) => span.traceId === traceId);
    assert.equal(spans.length, 1);
    assert.ok(spans[0].lengthMs > 0);
    const heldMs = (spans[0].attributes['waitfall.hold.duration_ns'] as number) / 1e6;
    assert.ok(heldMs >= 55, `${heldMs} ms`);
    assert.notEqual(spans[0].attributes['waitfall.lock.key'], undefined);
  });
});

test('a wait that ends in an error: how it ended', async () => {
  const endings = [
    ["SET lock_timeout = '500ms'", 'UPDATE item SET stock = 1 WHERE id = 5', '55P03'],
    ["SET statement_timeout = '500ms'", 'SELECT pg_advisory_lock(5)', '57014'],
  ];
  for (const [setting, statement, code] of endings) {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let taken = () => {};
    const has = new Promise<void>((resolve) => {
      taken = resolve;
    });
    const ended = others.begin(async (tx) => {
      await tx`SELECT stock, pg_advisory_xact_lock(5) FROM item WHERE id = 5 FOR UPDATE`;
      taken();
      await released;
    });
    await has;
    const { traceId } = await request(() =>
      withClient(async (client) => {
        await client.query(setting);
        await assert.rejects(client.query(statement), { code });
      }),
    );
    release();
    await ended;
    const wait = lockWait(traceId);
    assert.equal(wait.attributes['waitfall.outcome'], 'timeout');
    assert.equal(wait.attributes['error.type'], code);
    assert.equal(wait.failed, true);
    assert.equal(wait.attributes['waitfall.hold.duration_ns'], undefined);
  }
});

test('the holder at the root of a chain is named, and its trace where its comment says it', async () => {
  const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
  await withClient(async (client) => {
    const { ended } = await heldByOthers(
      `UPDATE item SET stock = 1 WHERE id = 3 /*traceparent='${traceparent}'*/`,
    );
    // Ours wants a lock that the second in line has: the second itself waits for the holder.
    const second = others.begin(async (tx) => {
      await tx`SELECT pg_advisory_xact_lock(3)`;
      await tx`UPDATE item SET stock = 2 WHERE id = 3`;
    });
    for (let waiting = 0; waiting === 0; await sleep(5)) {
      const [row] = await others`SELECT count(*)::int AS waiting FROM pg_locks WHERE NOT granted`;
      waiting = row.waiting;
    }
    const { traceId } = await request(() => client.query('SELECT pg_advisory_lock(3)'));
    await Promise.all([ended, second]);
    // The wait is written together with its hold.
    await client.query('SELECT pg_advisory_unlock(3)');
    const wait = lockWait(traceId);
    assert.equal(wait.attributes['waitfall.resource'], 'lock:advisory');
    assert.equal(wait.attributes['waitfall.blocker.statement'], 'UPDATE item');
    assert.equal(wait.links.length, 1);
    assert.equal(wait.links[0].traceId, 'ab'.repeat(16));
    assert.equal(wait.links[0].spanId, 'cd'.repeat(8));
    assert.equal(wait.links[0].attributes['waitfall.link'], 'blocked_by');
    assert.ok((wait.links[0].attributes['waitfall.link.samples'] as number) >= 1);
  });
});

test('a holder of this process is linked by its process id, also when it only reads', async () => {
  await withClient(async (holder) => {
    await withClient(async (waiter) => {
      await holder.query('BEGIN');
      const first = await request(() => holder.query('LOCK TABLE audit IN ACCESS EXCLUSIVE MODE'));
      const released = seenWaiting().then(() => holder.query('COMMIT'));
      const second = await request(() => waiter.query('SELECT count(*) FROM audit'));
      await released;
      const wait = lockWait(second.traceId);
      assert.equal(wait.name, 'wait_for lock:audit');
      assert.deepEqual(
        wait.links.map((link) => link.traceId),
        [first.traceId],
      );
      assert.equal(wait.attributes['waitfall.blocker.state'], 'idle in transaction');
    });
  });
});

test('a holder whose request is not sampled is no link to the request before it on the same connection', async () => {
  await withClient(async (holder) => {
    await withClient(async (waiter) => {
      await request(() => holder.query('SELECT 1'));
      await holder.query('BEGIN');
      await holder.query('LOCK TABLE audit IN ACCESS EXCLUSIVE MODE');
      const released = seenWaiting().then(() => holder.query('COMMIT'));
      const { traceId } = await request(() => waiter.query('SELECT count(*) FROM audit'));
      await released;
      const wait = lockWait(traceId);
      assert.deepEqual(wait.links, []);
      assert.equal(wait.attributes['waitfall.blocker.state'], 'idle in transaction');
    });
  });
});

test('what is recorded without asking stays as it is, and both are compared', async () => {
  const before = lockSamplerReport()?.comparison.both ?? 0;
  const contend = (client: Client, hold: () => Promise<unknown>) =>
    request(async () => {
      await client.query('BEGIN');
      await client.query('UPDATE item SET stock = stock - 1 WHERE id = 4');
      await hold();
      await client.query('COMMIT');
    });
  let isHeld = () => {};
  const held = new Promise<void>((resolve) => {
    isHeld = resolve;
  });
  let releasedMs = 0;
  let calledMs = 0;
  const first = async () => {
    isHeld();
    await seenWaiting();
    releasedMs = moment();
  };
  const [, second] = await withClient((one) =>
    withClient((two) =>
      Promise.all([
        contend(one, first),
        held.then(() => {
          calledMs = moment();
          return contend(two, () => sleep(1));
        }),
      ]),
    ),
  );
  const wait = lockWait(second.traceId);
  assert.equal(wait.attributes['waitfall.db.wait_events'], undefined);
  const { comparison } = lockSamplerReport() ?? assert.fail('no sampler');
  assert.equal(comparison.both, before + 1);
  // Both begin with the call at the earliest, and end when the holder has let go at the earliest.
  const difference = comparison.differenceMs(0.5);
  assert.ok(difference !== null && Math.abs(difference) < wait.endMs - calledMs, `${difference} ms`);
  assertBetween(wait.endMs, releasedMs, moment(), 'the wait ends');
});

test('a statement that waits for nothing is no wait; what it did is on its span', async () => {
  const { traceId } = await request(() => withClient((client) => client.query('SELECT pg_sleep(0.2)')));
  assert.deepEqual(
    recording.segment('lock_wait').filter((span) => span.traceId === traceId),
    [],
  );
  const statement = recording
    .spans()
    .find((span) => span.traceId === traceId && /pg.query:SELECT/.test(span.name));
  assert.match(String(statement?.attributes['waitfall.db.wait_events']), /Timeout:PgSleep \d+/);
});

test('the sampler asks nothing while no statement is older than the gate', async () => {
  await withClient(async (client) => {
    await sleep(60);
    const polls = lockSamplerReport()?.databases[0].polls;
    for (let times = 0; times < 50; times++) await client.query('SELECT 1');
    await sleep(150);
    assert.equal(lockSamplerReport()?.databases[0].polls, polls);
  });
});

test('a connection of its own that is lost is replaced, and nobody notices', async () => {
  await withClient(async (client) => {
    const killed = await others`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'waitfall-lock-sampler'`;
    assert.equal(killed.length, 1);
    const polls = lockSamplerReport()?.databases[0].polls ?? 0;
    const deadlineMs = performance.now() + 10_000;
    while ((lockSamplerReport()?.databases[0].polls ?? 0) < polls + 3) {
      assert.ok(performance.now() < deadlineMs, 'it never asked again');
      await request(() => client.query('SELECT pg_sleep(0.1)'));
    }
  });
});

test('its own statements are in no trace, and it leaves no listener on the clients of the service', async () => {
  await withClient(async (client) => {
    const listeners = client.eventNames().length;
    const { traceId } = await request(() => client.query('SELECT pg_sleep(0.05)'));
    assert.equal(client.eventNames().length, listeners);
    const texts = recording.spans().map((span) => String(span.attributes['db.query.text'] ?? ''));
    assert.deepEqual(
      texts.filter((text) => text.includes('pg_locks')),
      [],
    );
    assert.ok(recording.spans().some((span) => span.traceId === traceId));
  });
});
