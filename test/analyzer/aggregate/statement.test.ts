import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatementReader } from '../../../analyzer/src/aggregate/statement.ts';
import { Export } from '../infer/service.ts';

const CASES: [text: string, verb: string, relation: string, locksRows: boolean][] = [
  ['SELECT * FROM orders WHERE id = $1', 'SELECT', 'orders', false],
  ['select id from "public"."orders" for update', 'SELECT', 'public.orders', true],
  ['SELECT 1 FROM a FOR NO KEY UPDATE', 'SELECT', 'a', true],
  ['UPDATE campaign SET stock = stock - 1', 'UPDATE', 'campaign', true],
  ['DELETE FROM ONLY jobs', 'DELETE', 'jobs', true],
  ['INSERT INTO audit_log (id) VALUES ($1)', 'INSERT', 'audit_log', false],
  [
    'WITH t AS (UPDATE campaign SET a = 1 RETURNING id) INSERT INTO r SELECT * FROM t',
    'UPDATE',
    'campaign',
    true,
  ],
  ['BEGIN', 'BEGIN', '', false],
  ['COMMIT', 'COMMIT', '', false],
];
for (const [text, verb, relation, locksRows] of CASES) {
  test(`reads ${text}`, () => {
    const out = new Export();
    out.request(0, 1).call('q', 'db', 0, 1, [
      ['db.system.name', 'postgresql'],
      ['db.query.text', text],
    ]);
    const reader = new StatementReader(out.input().table);
    assert.deepEqual(reader.of(1), { verb, relation, locksRows });
  });
}

test('a call to something else is no statement', () => {
  const out = new Export();
  out.request(0, 1).call('GET', 'risk', 0, 1);
  assert.equal(new StatementReader(out.input().table).of(1), null);
});

function formsOf(texts: readonly string[]): Set<string> {
  const out = new Export();
  for (const [i, text] of texts.entries()) {
    out.request(i, 1).call('q', 'db', 0, 1, [
      ['db.system.name', 'postgresql'],
      ['db.query.text', text],
    ]);
  }
  const { table } = out.input();
  const reader = new StatementReader(table);
  const rows = Array.from({ length: table.length }, (_, row) => row).filter((row) => reader.of(row) !== null);
  return new Set(rows.map((row) => reader.form(row)));
}

test('few texts are told apart as they are: two of one verb may cost differently', () => {
  assert.equal(formsOf(['SELECT pg_sleep(0.002)', 'SELECT pg_sleep(0.08)']).size, 2);
});

test('where values are written into thousands of texts, their form tells them apart', () => {
  const texts = Array.from(
    { length: 300 },
    (_, i) => `SELECT * FROM orders WHERE id = ${i} AND name = 'n${i}'`,
  );
  assert.deepEqual([...formsOf(texts)], ['SELECT * FROM orders WHERE id = ? AND name = ?']);
});
