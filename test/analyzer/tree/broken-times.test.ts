import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dump } from './dump.ts';
import { BASE } from './spans.ts';

const root = { id: '1', name: 'root', start: 0, end: 100 };

test('a negative length, a missing start or end, and a start of zero are quarantined', () => {
  const spans = [
    root,
    { id: '2', parent: '1', name: 'negative', start: 80, end: 50 },
    { id: '3', parent: '1', name: 'no end', start: 10, end: null },
    { id: '4', parent: '1', name: 'no start', start: null, end: 90 },
    { id: '5', parent: '1', name: 'zero', start: 0n, end: 90 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 100',
    'quarantined: negative no end no start zero',
    'quarantined 4',
  ]);
});

test('a start of zero with an end before the year 2000 is a small test clock, not a fault', () => {
  assert.deepEqual(dump([{ id: '1', name: 'root', start: 0n, end: 5_000_000n }]), ['true: root [0,5) 5']);
});

test('children of a broken span go to the nearest sound ancestor', () => {
  const spans = [
    root,
    { id: '2', parent: '1', name: 'broken', start: 50, end: 40 },
    { id: '3', parent: '2', name: 'broken too', start: 50, end: null },
    { id: '4', parent: '3', name: 'sound', start: 20, end: 60 },
    { id: '5', parent: '4', name: 'leaf', start: 30, end: 40 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 60',
    '  sound [20,60) 30',
    '    leaf [30,40) 10',
    'quarantined: broken broken too',
    'quarantined 2',
  ]);
});

test('a long chain of broken spans is looked through, from whichever end it is met', () => {
  const broken = (id: string, parent: string) => ({ id, parent, name: `broken ${id}`, start: 2, end: 1 });
  const chain = [broken('2', '1'), broken('3', '2'), broken('4', '3'), broken('5', '4'), broken('6', '5')];
  const leaves = ['6', '3', '5'].map((parent, i) => ({
    id: `a${i}`,
    parent,
    name: `under ${parent}`,
    start: 10 * i,
    end: 10 * i + 5,
  }));
  assert.deepEqual(dump([...leaves, ...chain.toReversed(), root]).slice(0, 4), [
    'true: root [0,100) 85',
    '  under 6 [0,5) 5',
    '  under 3 [10,15) 5',
    '  under 5 [20,25) 5',
  ]);
});

test('below a broken root all go with it, and only the sound ones count as its subtree', () => {
  const spans = [
    { ...root, name: 'broken root', end: null },
    { id: '2', parent: '1', name: 'child', start: 10, end: 20 },
    { id: '3', parent: '2', name: 'grandchild', start: 12, end: 15 },
    { id: '4', parent: '2', name: 'broken below', start: 12, end: 11 },
    { id: '5', parent: '4', name: 'leaf', start: 12, end: 13 },
    { id: '6', name: 'other root', start: 0, end: 1 },
  ];
  assert.deepEqual(dump(spans), [
    'true: other root [0,1) 1',
    'quarantined: broken root child grandchild broken below leaf',
    'quarantined 2',
    'quarantinedSubtree 3',
  ]);
});

test('below a broken orphan all go with it', () => {
  const spans = [
    { id: '2', parent: 'dead', name: 'broken', start: 3, end: 2 },
    { id: '3', parent: '2', name: 'child', start: 10, end: 20 },
  ];
  assert.deepEqual(dump(spans), ['quarantined: broken child', 'quarantined 1', 'quarantinedSubtree 1']);
});

test('broken spans in a circle take along what hangs on them', () => {
  const spans = [
    { id: '2', parent: '3', name: 'broken', start: 3, end: 2 },
    { id: '3', parent: '2', name: 'broken back', start: 3, end: 2 },
    { id: '4', parent: '3', name: 'child', start: 10, end: 20 },
  ];
  assert.deepEqual(dump(spans).slice(1), ['quarantined 2', 'quarantinedSubtree 1']);
});

test('a circle with a sound member is a cycle of the sound ones', () => {
  const spans = [
    { id: '2', parent: '3', name: 'broken', start: 3, end: 2 },
    { id: '3', parent: '2', name: 'sound', start: 10, end: 20 },
  ];
  assert.deepEqual(dump(spans), [
    'cycle: sound [0,10) 10',
    'quarantined: broken',
    'quarantined 1',
    'cycles 1',
  ]);
});

test('a span of 2^53 ns (104 days) or more is broken: nothing could hold its time exactly', () => {
  const limit = 2n ** 53n;
  const spans = [
    { id: '1', name: 'longest', start: BASE, end: BASE + limit - 1n },
    { id: '2', name: 'too long', start: BASE, end: BASE + limit },
  ];
  assert.deepEqual(dump(spans).slice(1), ['quarantined: too long', 'quarantined 1']);
});
