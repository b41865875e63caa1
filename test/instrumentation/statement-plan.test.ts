import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowKeys } from '../../instrumentation/src/pg/sql/keys.ts';
import { parsePlan } from '../../instrumentation/src/pg/sql/parse.ts';

/** One line a lock: mode, relation, key columns, and the keys these values give. */
function dump(sql: string, values: unknown[] = []): string {
  const plan = parsePlan(sql);
  const locks = plan.locks.map((lock) => {
    const keys = rowKeys(lock, values);
    const shown =
      keys === null ? 'no key' : keys.map((key) => key.split('\0').slice(1).join(' ')).join(' | ');
    const wait = lock.onConflict === 'block' ? '' : ` ${lock.onConflict}`;
    return `${lock.mode}${wait} ${lock.relation}: ${shown}${lock.identifies ? '' : ' (set)'}`;
  });
  const op = plan.transaction;
  if (op !== null) locks.push('name' in op ? `${op.op} ${op.name}` : op.op);
  return locks.join('; ') || '-';
}

const CASES: [string, string, unknown[]?][] = [
  // plain forms
  ['UPDATE t SET n = n + 1 WHERE id = $1', 'no-key-update t: id 7', [7]],
  ["update t set n = 1 where id = '3'", 'no-key-update t: id 3'],
  ['update t set n = 1 where 3 = id', 'no-key-update t: id 3'],
  ['update t set n = 1 where id = -3', 'no-key-update t: id -3'],
  ['DELETE FROM t WHERE id = $1 RETURNING *', 'update t: id 1', [1]],
  ['delete from only t as x where x.id = $1', 'update t: id 1', [1]],
  ['select * from t where id = $1 for update', 'update t: id 1', [1]],
  ['SELECT * FROM t WHERE id = $1 FOR NO KEY UPDATE', 'no-key-update t: id 1', [1]],
  ['select * from t where id = $1 for share', 'share t: id 1', [1]],
  ['select * from t where id = $1 for key share', 'key-share t: id 1', [1]],
  ['select * from t where id = $1 for update nowait', 'update nowait t: id 1', [1]],
  [
    'select * from t where grp = $1 order by id limit 1 for update skip locked',
    'update skip t: no key (set)',
    [2],
  ],
  ['select * from t where id = $1', '-', [1]],
  ['select updated, deleted from t where id = $1', '-', [1]],
  // which columns are the key
  ['update t set n = 1 where grp = $2 and id = $1', 'no-key-update t: id 1', [1, 2]],
  ['update users set n = 1 where user_id = $1 and state = $2', 'no-key-update users: user_id 1', [1, 'a']],
  ['update t set n = 1 where b = $2 and a = $1', 'no-key-update t: a b 1 2 (set)', [1, 2]],
  ['update t set n = 1 where id = $1 and n < 5', 'no-key-update t: id 1', [1]],
  ['update t set n = 1 where id = $1 and at between $2 and $3', 'no-key-update t: id 1', [1, 2, 3]],
  ['update t set n = 1 where at between 1 and 2 and id = $1', 'no-key-update t: id 1', [1]],
  // a column that gets a new value says which state is wanted, not which row
  [
    'update t set "on" = $1, n = n + 1 where a = $2 and b = $3 and "on" = $4',
    'no-key-update t: a b 1 2 (set)',
    [true, 1, 2, false],
  ],
  [
    'update t set (x, c) = (1, 2), d = f(a, c) where a = 1 and b = 2 and c = 3 and d = 4',
    'no-key-update t: a b 1 2 (set)',
  ],
  ["update t set s = 'done' where a = 1 and s = 'new'", 'no-key-update t: a s 1 new (set)'],
  ['update t set n = 1 where (a, b) = ($1, $2)', 'no-key-update t: a b 1 2 (set)', [1, 2]],
  ['update t set n = 1 where id in ($1, $2, $1)', 'no-key-update t: id 1 | id 2', [1, 2]],
  ['update t set n = 1 where id in ($1)', 'no-key-update t: id 1', [1]],
  ['update t set n = 1 where id = any($1::int[])', 'no-key-update t: id 1 | id 2', [[1, 2]]],
  ['update t set n = 1 where id = any($1)', 'no-key-update t: id 1 | id 2', ['{1,2}']],
  // advisory locks
  ['SELECT pg_advisory_xact_lock($1)', 'update advisory: key1 5', [5]],
  ['select pg_advisory_xact_lock_shared(3, $1::int)', 'share advisory: key1 key2 3 5', [5]],
  ["select pg_advisory_lock(hashtext('a'))", 'update advisory: no key (set)'],
  ['select pg_try_advisory_lock(1)', '-'],
  // children of what a foreign key may point to
  ['insert into lines (order_id, n) values ($1, 2)', 'key-share order: id 7; key-share orders: id 7', [7]],
  ['insert into lines (category_id) values (4)', 'key-share category: id 4; key-share categories: id 4'],
  ['insert into lines (order_id) values (1), (2)', '-'],
  ['insert into lines (order_id) select id from orders', '-'],
  // no key
  ['update t set n = 1', 'no-key-update t: no key (set)'],
  ['update t set n = 1 where id = $1 or id = $2', 'no-key-update t: no key (set)', [1, 2]],
  ['update t set n = 1 where id > $1', 'no-key-update t: no key (set)', [1]],
  ['update t set n = 1 where not id = $1', 'no-key-update t: no key (set)', [1]],
  ['update t set n = 1 where id = (select max(id) from t)', 'no-key-update t: no key (set)'],
  ['update t set n = 1 where grp = $1 and id in (select id from t limit 1)', 'no-key-update t: no key (set)'],
  [
    'update t set n = 1 where id = $1 and exists (select 1 from u where u.t = 1)',
    'no-key-update t: id 3',
    [3],
  ],
  [`update t set n = 1 where "objectId" = 'x' and (a is null or a = 1)`, 'no-key-update t: objectId x'],
  ['update t set n = 1 where lower(name) = $1', 'no-key-update t: no key (set)', ['a']],
  ['update t set n = 1 where case when a then id = $1 else b end', 'no-key-update t: no key (set)', [1]],
  ['update t set n = 1 where id = $1', 'no-key-update t: no key', [null]],
  ['update t set n = 1 where id = $1', 'no-key-update t: no key', [{ a: 1 }]],
  [
    'update t set n = 1 where id = any($1)',
    'no-key-update t: no key',
    [Array.from({ length: 17 }, (_, i) => i)],
  ],
  // other tables
  ['update t set n = 1 from u where t.id = u.t_id and u.id = $1', 'no-key-update t: no key (set)', [1]],
  ['update t set n = 1 from u where u.x = t.x and t.id = $1', 'no-key-update t: id 1', [1]],
  ['delete from t using u where t.id = u.t_id and t.id = $1', 'update t: id 1', [1]],
  ['select * from t join u on u.t = t.id where t.id = $1 for update of t', 'update t: id 1', [1]],
  [
    'select * from t as a inner join u as b on b.t = a.id where b.id = $1 for update of b',
    'update u: id 1',
    [1],
  ],
  [
    'with l as (select id from t where id = $1 for update) update u set n = 1 from l where u.id = l.id',
    'update t: id 1; no-key-update u: no key (set)',
    [1],
  ],
  // upserts
  [
    'insert into t (id, n) values ($1, 1) on conflict (id) do update set n = t.n + 1',
    'no-key-update t: id 4',
    [4],
  ],
  [
    'insert into t (a, b, n) values ($1, $2, 1) on conflict (a, b) do update set n = 2',
    'no-key-update t: a b 1 2 (set)',
    [1, 2],
  ],
  [
    'insert into t (id, n) values ($1, 1), ($2, 1) on conflict (id) do update set n = 2',
    'no-key-update t: id 1 | id 2',
    [1, 2],
  ],
  // the keys of new rows
  ['insert into t (id, n) values ($1, 2) on conflict (id) do nothing', 'insert t: id 1', [1]],
  ['insert into t (a, b) values ($1, $2) on conflict (b, a) do nothing', 'insert t: a b 1 2', [1, 2]],
  ['insert into t (id) values (1), (2)', 'insert t: id 1 | id 2'],
  ['insert into t (n) values (1) on conflict do nothing', '-'],
  ['insert into t (id) select n from u', '-'],
  ['insert into t (id) values (nextval($1))', '-', ['s']],
  [
    'insert into t (id) values ($1) on conflict on constraint c do update set n = 2',
    'no-key-update t: no key (set)',
    [1],
  ],
  ['insert into t (id) values ($1)', 'insert t: id 1', [1]],
  // spelling
  [
    'UPDATE "public"."Users" SET "n" = 1 WHERE ("public"."Users"."id" = $1 AND 1=1)',
    'no-key-update Users: id 5',
    [5],
  ],
  ['update t set n = 1 where id = CAST($1 AS uuid)', 'no-key-update t: id a', ['a']],
  ['update t set n = 1 where id = $1::character varying(40)', 'no-key-update t: id a', ['a']],
  [
    'update t set n = 1 where at = $1::timestamp with time zone and id = $2',
    'no-key-update t: id 2',
    ['x', 2],
  ],
  ["update t set n = E'it\\'s' where id = $$a'b$$ -- ; delete from x", "no-key-update t: id a'b"],
  ["update t set n = $tag$ where id = 1 $tag$ where id = 'it''s'", "no-key-update t: id it's"],
  [
    '/* outer /* nested */ update x set n = 1 where id = 9 */ update t set n = 1 where id = 1',
    'no-key-update t: id 1',
  ],
  ["update t set n = 'update x set n = 1 where id = 2' where id = 1", 'no-key-update t: id 1'],
  ['update t set "update" = 1, "for" = 2 where t."id" = 1', 'no-key-update t: id 1'],
  ['update t set n = 1 where id = 17; select 1', 'no-key-update t: id 17'],
  ['select key, value from t where id = 1 for update', 'update t: id 1'],
  // transactions
  ['BEGIN', 'begin'],
  ['begin isolation level serializable', 'begin'],
  ['START TRANSACTION READ WRITE', 'begin'],
  ['commit;', 'commit'],
  ['END', 'commit'],
  ['COMMIT AND CHAIN', 'commit'],
  ['rollback', 'rollback'],
  ['ABORT', 'rollback'],
  ['SAVEPOINT s1', 'savepoint s1'],
  ['RELEASE SAVEPOINT s1', 'release s1'],
  ['release s1', 'release s1'],
  ['ROLLBACK TO SAVEPOINT s1', 'rollback-to s1'],
  ['rollback work to s1', 'rollback-to s1'],
  ["PREPARE TRANSACTION 'x'", 'prepare'],
  ["COMMIT PREPARED 'x'", '-'],
  ['begin; update t set n = 1 where id = 1; commit', 'no-key-update t: id 1'],
];

for (const [sql, expected, values] of CASES) {
  test(sql, () => assert.equal(dump(sql, values), expected));
}

test('any text gives a plan: cut anywhere, it neither throws nor takes long', () => {
  for (const [sql] of CASES) {
    for (let length = 0; length <= sql.length; length++) parsePlan(sql.slice(0, length));
  }
  assert.equal(parsePlan(`update t set n = 1 where ${'('.repeat(9_000)}id = 1`).locks.length, 1);
  assert.deepEqual(parsePlan(`update t set n = '${'x'.repeat(30_000)}' where id = 1`).locks, []);
});

test('values that compare as text are equal, others are not guessed', () => {
  const { locks } = parsePlan('update t set n = 1 where id = $1');
  const key = (value: unknown) => rowKeys(locks[0], [value])?.[0];
  assert.equal(key(1), key('1'));
  assert.equal(key(1n), key(1));
  assert.equal(key(new Date(0)), key('1970-01-01T00:00:00.000Z'));
  assert.notEqual(key(1), key(2));
  assert.equal(key(Symbol.iterator), undefined);
  assert.equal(key(undefined), undefined);
});

test('texts that differ in their values have one shape', () => {
  const shape = (sql: string) => parsePlan(sql).shape;
  assert.equal(
    shape("update t set n = 1, at = '2026' where id in (1, 2, 3)"),
    shape("UPDATE t SET n = 22, at = '2027' WHERE id IN ($1, 5)"),
  );
  assert.notEqual(shape('update t set n = 1 where id = 1'), shape('update t set n = 1 where grp = 1'));
  assert.equal(shape('select 1'), undefined);
});
