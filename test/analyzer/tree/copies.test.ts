import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repairTrees } from '../../../analyzer/src/tree/repair.ts';
import { STATE } from '../../../analyzer/src/tree/types.ts';
import { dump } from './dump.ts';
import { type TestSpan, tableOf } from './spans.ts';

test('identical copies are dropped and counted, whatever the order of their attributes', () => {
  const root = { id: '1', name: 'root', start: 0, end: 10 };
  const child = { id: '2', parent: '1', name: 'child', start: 1, end: 4 };
  const spans = [
    { ...root, attributes: { a: 1, b: 'x' } },
    { ...child },
    { ...root, attributes: { b: 'x', a: 1 } },
    { ...child },
    { ...child },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,10) 7',
    '  child [1,4) 3',
    'dropped: root child child',
    'duplicates 3',
  ]);
});

test('of different copies the later end is kept, then the earlier start', () => {
  const query = (name: string, start: number, end: number) => ({ id: '2', parent: '1', name, start, end });
  const spans = [
    { id: '1', name: 'root', start: 0, end: 100 },
    query('short', 10, 90),
    query('long', 20, 95),
    query('long and early', 15, 95),
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 20',
    '  long and early [15,95) 80',
    'dropped: short long',
    'conflicts 2',
  ]);
});

test('of copies with the same times the smaller text is kept, whichever comes first', () => {
  const one = { id: '1', name: 'apple', start: 0, end: 10 };
  const two = { id: '1', name: 'pear', start: 0, end: 10 };
  assert.deepEqual(dump([one, two]), ['true: apple [0,10) 10', 'dropped: pear', 'conflicts 1']);
  assert.deepEqual(dump([two, one]), ['true: apple [0,10) 10', 'dropped: pear', 'conflicts 1']);
});

test('a valid copy beats an invalid one with a later end', () => {
  const spans = [
    { id: '1', name: 'no start', start: null, end: 50 },
    { id: '1', name: 'valid', start: 0, end: 10 },
    { id: '1', name: 'start zero', start: 0n, end: 60 },
  ];
  assert.deepEqual(dump(spans), ['true: valid [0,10) 10', 'dropped: no start start zero', 'conflicts 2']);
});

test('a copy keeps its own parent: the losing one names none', () => {
  const spans = [
    { id: '1', name: 'root', start: 0, end: 10 },
    { id: '2', name: 'parentless', start: 2, end: 5 },
    { id: '2', parent: '1', name: 'whole', start: 2, end: 8 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,10) 4',
    '  whole [2,8) 6',
    'dropped: parentless',
    'conflicts 1',
  ]);
});

test('one id in two traces is two spans, and a parent in another trace is missing', () => {
  const spans = [
    { id: '1', trace: 'a', name: 'first', start: 0, end: 10 },
    { id: '1', trace: 'b', name: 'second', start: 20, end: 40 },
    { id: '2', trace: 'b', parent: '3', name: 'stray', start: 20, end: 25 },
    { id: '3', trace: 'a', parent: '1', name: 'child', start: 0, end: 5 },
  ];
  assert.deepEqual(dump(spans), [
    'true: first [0,10) 5',
    '  child [0,5) 5',
    'true: second [0,20) 20',
    'orphan 0000000000000003: stray [0,5) 5',
  ]);
});

const PAIR: TestSpan[] = [
  { id: '1', name: 'home', service: 'front', kind: 'server', start: 0, end: 50 },
  { id: '2', parent: '1', name: 'get', service: 'front', kind: 'client', start: 10, end: 40 },
  { id: '2', parent: '1', name: 'api', service: 'back', kind: 'server', shared: true, start: 15, end: 35 },
];

test('a shared pair: the server half hangs under the client half, children under the half of their service', () => {
  const spans: TestSpan[] = [
    ...PAIR,
    { id: '3', parent: '2', name: 'select', service: 'back', start: 20, end: 30 },
    { id: '4', parent: '2', name: 'retry timer', service: 'front', start: 11, end: 13 },
    { id: '5', parent: '2', name: 'sidecar', service: 'mesh', start: 16, end: 17 },
  ];
  assert.deepEqual(dump(spans), [
    'true: home [0,50) 20',
    '  get [10,40) 8',
    '    retry timer [11,13) 2',
    '    api [15,35) 9',
    '      sidecar [16,17) 1',
    '      select [20,30) 10',
  ]);
});

test('a pair within one service: its children hang under the server half', () => {
  const spans = [
    ...PAIR.map((span) => ({ ...span, service: 'mono' })),
    { id: '3', parent: '2', name: 'select', service: 'mono', start: 20, end: 30 },
  ];
  assert.equal(dump(spans).at(-1), '      select [20,30) 10');
});

test('copies of a half compete within that half', () => {
  const spans = [...PAIR, { ...PAIR[1], name: 'get again', end: 41 }, { ...PAIR[2] }];
  assert.deepEqual(dump(spans), [
    'true: home [0,50) 19',
    '  get again [10,41) 11',
    '    api [15,35) 20',
    'dropped: get api',
    'duplicates 1',
    'conflicts 1',
  ]);
});

test('a client half without valid times gives its server half to its own parent', () => {
  const spans = PAIR.map((span) => (span.name === 'get' ? { ...span, end: null } : span));
  assert.deepEqual(dump(spans), [
    'true: home [0,50) 30',
    '  api [15,35) 20',
    'quarantined: get',
    'quarantined 1',
  ]);
});

test('two clients with one id are copies, not a pair', () => {
  const spans = PAIR.map((span) => ({ ...span, kind: 'client' as const, shared: false }));
  assert.deepEqual(dump(spans).slice(-2), ['dropped: api', 'conflicts 1']);
});

test('the kept row of many copies does not depend on their order', () => {
  const copies = Array.from({ length: 50 }, (_, i) => ({
    id: '1',
    name: `copy ${i % 7}`,
    start: 0,
    end: (i * 13) % 5,
  }));
  const kept = (spans: TestSpan[]): string[] => {
    const { state } = repairTrees(tableOf(spans));
    return spans.filter((_, row) => state[row] === STATE.inTree).map(({ name, end }) => `${name} ${end}`);
  };
  assert.deepEqual(kept(copies), kept(copies.toReversed()));
});
