import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dump } from './dump.ts';
import type { TestSpan } from './spans.ts';

test('several roots are several trees', () => {
  const spans = [
    { id: '1', name: 'page', start: 0, end: 100 },
    { id: '2', name: 'api', start: 300, end: 500 },
    { id: '3', parent: '2', name: 'db', start: 350, end: 450 },
  ];
  assert.deepEqual(dump(spans), ['true: page [0,100) 100', 'true: api [0,200) 100', '  db [50,150) 100']);
});

test('an orphan is a root of its own, with its children and the id that is missing', () => {
  const spans = [
    { id: '2', parent: '999', name: 'cart', start: 0, end: 8 },
    { id: '3', parent: '2', name: 'db', start: 1, end: 4 },
  ];
  assert.deepEqual(dump(spans), ['orphan 0000000000000999: cart [0,8) 5', '  db [1,4) 3']);
});

test('a span that is its own parent is a cycle of one', () => {
  assert.deepEqual(dump([{ id: '1', parent: '1', name: 'self', start: 0, end: 8 }]), [
    'cycle: self [0,8) 8',
    'cycles 1',
  ]);
});

test('a cycle of three is cut at its earliest member; what hangs on it stays', () => {
  const spans = [
    { id: '1', parent: '3', name: 'one', start: 5, end: 20 },
    { id: '2', parent: '1', name: 'two', start: 2, end: 30 },
    { id: '3', parent: '2', name: 'three', start: 6, end: 25 },
    { id: '4', parent: '3', name: 'leaf', start: 10, end: 12 },
  ];
  assert.deepEqual(dump(spans), [
    'cycle: two [0,28) 9',
    '  three [4,23) 5',
    '    one [3,18) 14',
    '    leaf [8,10) 0',
    'cycles 1',
  ]);
});

test('of members that start together the smaller id is cut', () => {
  const spans = [
    { id: 'b', parent: 'a', name: 'b', start: 0, end: 10 },
    { id: 'a', parent: 'b', name: 'a', start: 0, end: 10 },
  ];
  assert.deepEqual(dump(spans), ['cycle: a [0,10) 0', '  b [0,10) 10', 'cycles 1']);
});

test('ids that are no hex are compared as text', () => {
  const spans = [
    { id: 'x-10', parent: 'x-9', start: 0, end: 10 },
    { id: 'x-9', parent: 'x-10', start: 0, end: 10 },
  ];
  assert.deepEqual(dump(spans), ['cycle: x-10 [0,10) 0', '  x-9 [0,10) 10', 'cycles 1']);
});

test('links make no parents: not to a child, not on a root, not into another or a missing trace', () => {
  const spans: TestSpan[] = [
    {
      id: '1',
      name: 'root',
      start: 0,
      end: 10,
      links: [
        ['1', '2'],
        ['2', '1'],
        ['dead', '1'],
      ],
    },
    { id: '2', parent: '1', name: 'child', start: 1, end: 4, links: [['1', '1']] },
    { id: '1', trace: '2', name: 'holder', start: 0, end: 3 },
  ];
  assert.deepEqual(dump(spans), ['true: root [0,10) 7', '  child [1,4) 3', 'true: holder [0,3) 3']);
});

test('the order of the input changes nothing', () => {
  const spans: TestSpan[] = [
    { id: '1', name: 'root', start: 0, end: 100 },
    { id: '2', parent: '1', name: 'a', start: 5, end: 50 },
    { id: '2', parent: '1', name: 'a, again', start: 5, end: 60 },
    { id: '3', parent: '2', name: 'b', start: 10, end: 70 },
    { id: '4', parent: '9', name: 'orphan', start: 3, end: 4 },
    { id: '5', parent: '5', name: 'self', start: 1, end: 2 },
    { id: '6', parent: '1', name: 'broken', start: 9, end: 8 },
    { id: '7', parent: '6', name: 'below broken', start: 80, end: 90 },
  ];
  const forwards = dump(spans);
  assert.deepEqual(dump(spans.toReversed()).map(sorted), forwards.map(sorted));
});

/** Rows outside trees are listed in input order. */
function sorted(line: string): string {
  return /^(dropped|quarantined|detached): /.test(line) ? line.split(' ').sort().join(' ') : line;
}
