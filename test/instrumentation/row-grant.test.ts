import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { grantOf } from '../../instrumentation/src/pg/locks/grant.ts';
import { type Attempt, type Delay, delayOf } from '../../instrumentation/src/pg/locks/infer-wait.ts';
import type { Timing } from '../../instrumentation/src/pg/sql/plan-cache.ts';
import { RecentValues } from '../../instrumentation/src/pg/sql/recent-values.ts';
import { bench, connected, useLockBench } from './support/lock-bench.ts';
import { request } from './support/recording.ts';

/** What the trigger sleeps once the statement has its row. */
const TRIGGER_MS = 200;

useLockBench();

async function slowTable(name: string): Promise<void> {
  const client = await connected();
  await client.query(`
    CREATE TABLE ${name} (id int PRIMARY KEY, n int NOT NULL DEFAULT 0);
    INSERT INTO ${name} SELECT g FROM generate_series(1, 5) g;
    CREATE FUNCTION rest_of_${name}() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_sleep(${TRIGGER_MS / 1e3}); RETURN NEW; END $$;
    CREATE TRIGGER rest AFTER UPDATE ON ${name} FOR EACH ROW EXECUTE FUNCTION rest_of_${name}();`);
  await client.end();
  bench.recording.clear();
}

/** One change of a row in a transaction. @returns when its end was sent, and how long it took, ms. */
async function change(client: Client, table: string, id: number, onSent = () => {}) {
  const times = { beganMs: 0, sentMs: 0, endSentMs: 0, endedMs: 0 };
  const { traceId } = await request(async () => {
    times.beganMs = performance.now();
    await client.query('BEGIN');
    times.sentMs = performance.now();
    const updated = client.query(`UPDATE ${table} SET n = n + 1 WHERE id = $1`, [id]);
    onSent();
    await updated;
    times.endSentMs = performance.now();
    await client.query('COMMIT');
    times.endedMs = performance.now();
  });
  const [span] = bench.recording.segment('lock_wait').filter((one) => one.traceId === traceId);
  return { ...times, span, heldMs: (span.attributes['waitfall.hold.duration_ns'] as number) / 1e6 };
}

test('a row is held while the statement that took it runs on: known from those that waited', async () => {
  await slowTable('slow');
  const [a, b] = await Promise.all([connected(), connected()]);
  // The first statement of a connection is slow on the server: it could be overtaken.
  for (const client of [a, b]) await change(client, 'slow', 3);
  for (let round = 0; round < 4; round++) {
    const sent = Promise.withResolvers<void>();
    const first = change(a, 'slow', 1, sent.resolve);
    await sent.promise;
    const both = await Promise.all([first, change(b, 'slow', 1)]);
    // On a busy machine the server may turn to the second first.
    const [holder, behind] = both[0].span.lengthMs > 0 ? both.toReversed() : both;
    assert.equal(holder.span.lengthMs, 0);
    assert.ok(behind.span.lengthMs > 0, 'neither waited');
    if (behind === both[1]) {
      const { attributes } = behind.span;
      assert.equal(attributes['waitfall.blocker.statement'], 'UPDATE slow');
      assert.equal(attributes['waitfall.blocker.state'], 'active');
      const ageMs = (attributes['waitfall.blocker.age_ns'] as number) / 1e6;
      assert.ok(ageMs >= 0 && ageMs <= behind.endSentMs - holder.sentMs);
    }
    // It had the row once the COMMIT before it was done, at some time between its call and its reply.
    const atLeastMs = TRIGGER_MS - (holder.endedMs - holder.endSentMs);
    const atMostMs = behind.endedMs - holder.endSentMs;
    const said = `${atLeastMs} <= ${behind.heldMs} <= ${atMostMs}`;
    assert.ok(behind.heldMs <= atMostMs + 1, said);
    // Until three have waited, a hold is said from the reply on, where nothing else is known.
    if (round === 3) assert.ok(behind.heldMs >= atLeastMs * 0.9, said);
  }
  const alone = await change(a, 'slow', 2);
  assert.equal(alone.span.lengthMs, 0);
  assert.equal(alone.span.attributes['waitfall.estimated'], undefined);
  const wholeMs = alone.endedMs - alone.sentMs;
  assert.ok(alone.heldMs >= TRIGGER_MS * 0.7 && alone.heldMs <= wholeMs + 1, `${alone.heldMs} of ${wholeMs}`);
  await Promise.all([a.end(), b.end()]);
});

test('a statement that looks for something else first takes its row at its end: no wait, no hold before', async () => {
  const ownMs = 400;
  const [a, b] = await Promise.all([connected(), connected()]);
  const touch = async (client: Client, id: number) => {
    const { traceId } = await request(async () => {
      await client.query('BEGIN');
      await client.query(`UPDATE t SET n = (SELECT count(*) FROM pg_sleep(${ownMs / 1e3})) WHERE id = $1`, [
        id,
      ]);
      await client.query('COMMIT');
    });
    return bench.recording.segment('lock_wait').filter((span) => span.traceId === traceId)[0];
  };
  bench.recording.clear();
  for (let i = 0; i < 3; i++) await touch(a, 20);
  const first = touch(a, 21);
  await sleep(ownMs / 2);
  const [, behind] = await Promise.all([first, touch(b, 21)]);
  assert.equal(behind.lengthMs, 0);
  const { attributes } = await touch(a, 22);
  assert.equal(attributes['waitfall.estimated'], undefined);
  const heldMs = (attributes['waitfall.hold.duration_ns'] as number) / 1e6;
  assert.ok(heldMs < ownMs / 2, `held ${heldMs} ms`);
  await Promise.all([a.end(), b.end()]);
});

test('before anybody waited, a slow statement on one row is taken to hold it, and that is said', async () => {
  await slowTable('lone');
  const client = await connected();
  for (let i = 0; i < 3; i++) await change(client, 'lone', 2);
  const { span, heldMs, sentMs, endedMs } = await change(client, 'lone', 1);
  assert.equal(span.lengthMs, 0);
  assert.equal(span.attributes['waitfall.estimated'], true);
  assert.ok(heldMs >= TRIGGER_MS * 0.7 && heldMs <= endedMs - sentMs, `${heldMs} of ${endedMs - sentMs}`);
  await client.end();
});

const attempt = (sentMs: number, answeredMs: number, timing: Timing): Attempt => ({
  sentMs,
  answeredMs,
  repliedMs: answeredMs,
  timing,
  autocommit: false,
  result: 'granted',
  inTheWay: [],
});
function valuesOf(...values: number[]): RecentValues {
  const recent = new RecentValues();
  for (const value of values) recent.add(value);
  return recent;
}
const timing = (uncontendedMs: number[], afterGrantMs: number[] = [], takesRowLast = false): Timing => ({
  uncontended: valuesOf(...uncontendedMs),
  afterGrant: valuesOf(...afterGrantMs),
  takesRowLast,
});

test('median, lower quartile and least of the last nine values', () => {
  const values = Array.from({ length: 60 }, (_, at) => (at * 37) % 23);
  const recent = new RecentValues();
  assert.equal(recent.median, null);
  for (let at = 0; at < values.length; at++) {
    recent.add(values[at]);
    const last = values.slice(Math.max(0, at - 8), at + 1).sort((a, b) => a - b);
    assert.equal(recent.median, last[(last.length - 1) >> 1]);
    assert.equal(recent.least, last.length < 3 ? null : last[0]);
    assert.equal(recent.lowerQuartile, last.length < 3 ? null : last[(last.length - 1) >> 2]);
  }
});

test('the grant of a statement nobody stood in front of', () => {
  const slow = [30, 40, 31];
  const cases: [what: string, grantMs: number, assumed: boolean, attempt: Attempt, idleMs: number | null][] =
    [
      ['a fast one: its reply', 100.4, false, attempt(100, 100.4, timing([0.4, 0.4, 0.4])), 0.2],
      ['slow as everything is', 120, false, attempt(100, 120, timing([20, 20, 20])), 8],
      ['slow by itself', 102, true, attempt(100, 130, timing(slow)), 2],
      ['faster than ever: not before it was sent', 100, true, attempt(100, 110, timing(slow)), 2],
      ['nothing to compare with', 130, false, attempt(100, 130, timing(slow)), null],
      ['seen too seldom', 130, false, attempt(100, 130, timing([30, 30])), 2],
      ['known from those that waited', 110, false, attempt(100, 130, timing(slow, [20, 60, 21])), 2],
      ['known to end with its grant', 130, false, attempt(100, 130, timing(slow, [0.2, 30, 0.3])), 2],
      ['known to look for something else first', 130, false, attempt(100, 130, timing(slow, [], true)), 2],
    ];
  for (const [what, atMs, assumed, given, idleMs] of cases)
    assert.deepEqual(grantOf(given, null, idleMs), { atMs, assumed }, what);
});

test('whether a statement that ran while its row was held was longer for it', () => {
  const slow = timing([30, 31, 32]);
  const cases: [Delay, Attempt, number][] = [
    ['undelayed', attempt(100, 131, slow), 20],
    ['delayed', attempt(100, 150, slow), 20],
    ['unclear', attempt(100, 131, slow), 2],
    ['undelayed', attempt(100, 131, timing([30, 31, 32], [], true)), 2],
    ['delayed', attempt(100, 131, timing([0.4, 0.4, 0.4])), 20],
    ['delayed', { ...attempt(100, 131, slow), result: 'refused' }, 20],
  ];
  for (const [delay, given, waitMs] of cases) assert.equal(delayOf(given, waitMs), delay);
});
