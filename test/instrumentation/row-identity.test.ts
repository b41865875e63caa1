import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOT_CONTEXT } from '@opentelemetry/api';
import type { LockHold, Row } from '../../instrumentation/src/pg/locks/row.ts';
import { DatabaseRows } from '../../instrumentation/src/pg/locks/rows.ts';
import { parsePlan } from '../../instrumentation/src/pg/sql/parse.ts';

const [lock] = parsePlan('UPDATE t SET n = 1 WHERE grp = $1').locks;

function holdOf(row: Row): LockHold {
  return {
    row,
    mode: 'no-key-update',
    summary: 'UPDATE t',
    owner: { isActive: false },
    parent: ROOT_CONTEXT,
    hasStatementSpan: false,
    autocommit: false,
    sentMs: 0,
    grantedMs: 0,
    endSentMs: undefined,
    releasedMs: undefined,
    endRepliedMs: 0,
    contradicted: false,
  };
}

test('a key that two transactions had at once three times names no row, and is given up', () => {
  const rows = new DatabaseRows('host', 'database', undefined);
  for (let i = 0; i < 3; i++) {
    const [row] = rows.find(lock, [1]);
    const holds = [holdOf(row), holdOf(row)];
    rows.contradict(holds);
    assert.ok(holds.every((hold) => hold.contradicted));
  }
  assert.deepEqual(rows.find(lock, [1]), []);
  assert.deepEqual(rows.find(lock, [2]), [], 'nor does any other value of the same columns');
  const [other] = parsePlan('UPDATE t SET n = 1 WHERE id = $1').locks;
  assert.equal(rows.find(other, [1]).length, 1);
});

test('replies that overtake each other now and then do not disprove a key', () => {
  const rows = new DatabaseRows('host', 'database', undefined);
  const [row] = rows.find(lock, [1]);
  for (let i = 0; i < 1_000; i++) {
    rows.handedOver(row);
    if (i % 100 === 99) rows.contradict([holdOf(row), holdOf(row)]);
  }
  assert.equal(rows.find(lock, [1]).length, 1);
});
