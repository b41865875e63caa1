import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classify } from '../../../analyzer/src/classify/classify.ts';
import { eachHold, type Hold } from '../../../analyzer/src/classify/holds.ts';
import { startUnixNano } from '../../../analyzer/src/model/span-table.ts';
import { repairTrees } from '../../../analyzer/src/tree/repair.ts';
import { BASE, type TestSpan, tableOf } from '../tree/spans.ts';

/** Every hold as `resource [start,end) of owner +epoch`, epoch in ns after BASE. */
function holds(spans: TestSpan[], toleranceNs = 2): string[] {
  const table = tableOf(spans);
  const forest = repairTrees(table, { toleranceNs, keepClocks: false });
  const found: string[] = [];
  eachHold(table, forest, classify(table, forest), (hold: Hold) => {
    const owner = hold.ownerRow < 0 ? 'nobody' : (spans[hold.ownerRow].name ?? '');
    const origin =
      hold.tree < 0 ? (hold.holdRow < 0 ? hold.waitRow : hold.holdRow) : forest.trees[hold.tree].root;
    const epoch = startUnixNano(table, origin) + BigInt(hold.start) - BASE;
    found.push(`${hold.resource} [${hold.start},${hold.end}) of ${owner} +${epoch}`);
  });
  return found;
}

const root: TestSpan = { id: '1', name: 'root', kind: 'server', start: 1000, end: 1100 };
const wait = (start: number, end: number, held: number | bigint | string): TestSpan => ({
  id: '2',
  parent: '1',
  name: 'wait',
  start,
  end,
  attributes: {
    'waitfall.segment': 'pool_wait',
    'waitfall.resource': 'pg-pool:a',
    'waitfall.hold.duration_ns': held,
  },
});

test('a hold stated on a wait runs from the end of the wait, under the parent of the wait', () => {
  assert.deepEqual(holds([root, wait(1010, 1020, 30)]), ['pg-pool:a [20,50) of root +1020']);
  assert.deepEqual(holds([root, wait(1010, 1020, '30')]), ['pg-pool:a [20,50) of root +1020']);
  assert.deepEqual(holds([root, wait(1010, 1010, 0)]), ['pg-pool:a [10,10) of root +1010']);
});

test('it starts at the recorded end of the wait, also where the tree cut that end', () => {
  assert.deepEqual(holds([root, wait(1010, 1102, 30)]), ['pg-pool:a [102,132) of root +1102']);
  assert.deepEqual(holds([{ ...root, error: true }, wait(1010, 1500, 30)]), [
    'pg-pool:a [500,530) of root +1500',
  ]);
});

test('a detached wait still took the resource', () => {
  assert.deepEqual(holds([root, wait(1010, 1500, 30)]), ['pg-pool:a [500,530) of root +1500']);
});

test('a hold span means the same, also past the end of the root or under nobody', () => {
  const attributes = { 'waitfall.segment': 'hold', 'waitfall.resource': 'lock:t' };
  const hold: TestSpan = { id: '3', name: 'hold', start: 1050, end: 1300, attributes };
  assert.deepEqual(holds([root, { ...hold, parent: '1' }]), ['lock:t [50,300) of root +1050']);
  assert.deepEqual(holds([root, hold]), ['lock:t [0,250) of nobody +1050']);
  const nameless = { ...hold, parent: '1', name: 'hold lock:u', attributes: { 'waitfall.segment': 'hold' } };
  assert.deepEqual(holds([root, nameless]), ['lock:u [50,300) of root +1050']);
});

test('what is no duration is no hold', () => {
  for (const held of ['soon', -5, Number.NaN]) assert.deepEqual(holds([root, wait(1010, 1020, held)]), []);
});
