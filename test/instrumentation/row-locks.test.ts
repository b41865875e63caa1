import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byId, type Observed, play, type Scenario, upsert, useLockBench } from './support/lock-bench.ts';

useLockBench();

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
  'upserts of a new row': { a: upsert('new'), b: upsert('new'), repeatable: false },
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
    freedBy: 'after',
  },
  'what was locked before a savepoint stays': {
    a: byId(1),
    b: byId(1),
    after: ['SAVEPOINT s1', 'UPDATE t SET n = 1 WHERE id = 20', 'ROLLBACK TO s1'],
  },
  'an error frees the locks of its transaction': {
    a: byId(1),
    b: byId(1),
    after: ['SELECT 1 / 0'],
    freedBy: 'after',
  },
  'several statements in one text': { a: 'UPDATE t SET n = n + 1 WHERE id = 17; SELECT 1', b: byId(17) },
  'the same predicate on no key': {
    a: ['UPDATE t SET n = n + 1 WHERE slug = $1', ['s30']],
    b: ['UPDATE t SET n = n + 1 WHERE slug = $1', ['s30']],
  },
  'an autocommit statement behind a transaction': { a: byId(1), b: byId(1), autocommitB: true },
  lock_timeout: {
    a: byId(1),
    b: byId(1),
    beforeB: ["SET LOCAL lock_timeout = '25ms'"],
    holdMs: 250,
    freedBy: 'limit',
    limitMs: 25,
  },
  statement_timeout: {
    a: byId(1),
    b: byId(1),
    beforeB: ["SET LOCAL statement_timeout = '25ms'"],
    holdMs: 250,
    freedBy: 'limit',
    limitMs: 24,
  },
  serializable: { a: byId(1), b: byId(1), isolation: 'SERIALIZABLE' },
  'repeatable read': { a: byId(1), b: byId(1), isolation: 'REPEATABLE READ' },
  'the last item was taken while B waited': {
    repeatable: false,
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
    freedBy: 'after',
  },
  'a child of a parent that is locked for deletion': {
    a: ['SELECT * FROM parent WHERE id = $1 FOR UPDATE', [3]],
    b: ['INSERT INTO child (parent_id) VALUES ($1)', [3]],
  },
  'the key of a row that is not committed': {
    a: ['INSERT INTO t (id) VALUES ($1)', [100]],
    b: ['INSERT INTO t (id) VALUES ($1)', [100]],
    end: 'ROLLBACK',
  },
  'the same key, and the second one too late': {
    repeatable: false,
    a: ['INSERT INTO t (id) VALUES ($1)', [101]],
    b: ['INSERT INTO t (id) VALUES ($1)', [101]],
  },
  'the key of a request that is tried twice': {
    repeatable: false,
    a: ['INSERT INTO counter (k) VALUES ($1) ON CONFLICT (k) DO NOTHING', ['once']],
    b: ['INSERT INTO counter (k) VALUES ($1) ON CONFLICT (k) DO NOTHING', ['once']],
  },
  'a key that is there, and whose row is being changed': {
    a: byId(25),
    b: ['INSERT INTO t (id) VALUES ($1) ON CONFLICT (id) DO NOTHING', [25]],
  },
  'an upsert of the key of a new row': {
    repeatable: false,
    a: ['INSERT INTO t (id) VALUES ($1)', [103]],
    b: ['INSERT INTO t (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET n = t.n + 1', [103]],
  },
  deadlock: {
    a: byId(23),
    b: byId(23),
    beforeB: [byId(24)],
    after: [byId(24)],
    // The server looks for deadlocks after a second.
    freedBy: 'limit',
    limitMs: 900,
  },
};

const isShort = ({ wait, blockedMs }: Observed) => wait !== undefined && wait.lengthMs < blockedMs * 0.8 - 2;

for (const [name, scenario] of Object.entries(FOUND)) {
  test(`found: ${name}`, async () => {
    let played = await play(scenario);
    // Between the test's clock and the product's the process may lose its processor: then it is played again.
    for (let i = 0; i < 2 && scenario.repeatable !== false && isShort(played); i++)
      played = await play(scenario);
    const { realMs, blockedMs, wait, traceA, errorB } = played;
    assert.ok(realMs > 10, `B did wait (${realMs} ms)`);
    assert.ok(wait, 'a lock_wait span');
    // It lasted until A gave the row back at least, and until B had its reply at most.
    assert.ok(wait.lengthMs <= realMs + 0.5, `${wait.lengthMs} ms of ${realMs} ms`);
    assert.ok(!isShort(played), `${wait.lengthMs} ms of ${blockedMs} ms`);
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
  'another key': {
    a: ['INSERT INTO t (id) VALUES ($1)', [110]],
    b: ['INSERT INTO t (id) VALUES ($1)', [111]],
  },
  'a key that is there, and whose row is only locked': {
    a: ['SELECT * FROM t WHERE id = $1 FOR UPDATE', [26]],
    b: ['INSERT INTO t (id) VALUES ($1) ON CONFLICT (id) DO NOTHING', [26]],
  },
  'a row that is not there yet': {
    a: ['INSERT INTO t (id) VALUES ($1)', [112]],
    b: byId(112),
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
  'the same row in another state than the one it is in': {
    a: ['UPDATE t SET n = 7 WHERE slug = $1 AND grp = $2 AND n <> 8', ['s5', 5 % 3]],
    b: ['UPDATE t SET n = 8 WHERE slug = $1 AND grp = $2 AND n = $3', ['s5', 5 % 3, 7]],
    end: 'ROLLBACK',
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
