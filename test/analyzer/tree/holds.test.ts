import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dump } from './dump.ts';

const hold = { 'waitfall.segment': 'hold', 'waitfall.resource': 'pg-pool:r' };

test('a hold beside its siblings gets no time and hides nobody', () => {
  const spans = [
    { id: '1', name: 'root', start: 0, end: 100 },
    { id: '2', parent: '1', name: 'hold', attributes: hold, start: 10, end: 100 },
    { id: '3', parent: '1', name: 'query', start: 20, end: 60 },
  ];
  assert.deepEqual(dump(spans), ['true: root [0,100) 60', '  query [20,60) 40', 'hold: hold']);
});

test('children of a hold, and of a hold in a hold, go to what the hold hangs under', () => {
  const spans = [
    { id: '1', name: 'root', start: 0, end: 100 },
    { id: '2', parent: '1', name: 'outer', attributes: hold, start: 10, end: 100 },
    { id: '3', parent: '2', name: 'inner', attributes: hold, start: 10, end: 100 },
    { id: '4', parent: '3', name: 'query', start: 20, end: 60 },
  ];
  assert.deepEqual(dump(spans), ['true: root [0,100) 60', '  query [20,60) 40', 'hold: outer inner']);
});

test('a hold is never a root: its children become roots of the same kind', () => {
  const child = { id: '2', parent: '1', name: 'query', start: 20, end: 60 };
  const asRoot = { id: '1', name: 'hold', attributes: hold, start: 10, end: 100 };
  assert.deepEqual(dump([asRoot, child]), ['true: query [0,40) 40', 'hold: hold']);
  assert.deepEqual(dump([{ ...asRoot, parent: 'dead' }, child]), [
    'orphan 000000000000dead: query [0,40) 40',
    'hold: hold',
  ]);
  assert.deepEqual(dump([{ ...asRoot, parent: '2' }, child]), [
    'cycle: query [0,40) 40',
    'hold: hold',
    'cycles 1',
  ]);
});

test('holds alone make no tree', () => {
  const spans = [
    { id: '1', parent: '2', name: 'a', attributes: hold, start: 10, end: 100 },
    { id: '2', parent: '1', name: 'b', attributes: hold, start: 10, end: 100 },
  ];
  assert.deepEqual(dump(spans), ['hold: a b', 'cycles 1']);
});

test('a hold with broken times is quarantined, not held', () => {
  const spans = [
    { id: '1', name: 'root', start: 0, end: 100 },
    { id: '2', parent: '1', name: 'hold', attributes: hold, start: 10, end: 5 },
  ];
  assert.deepEqual(dump(spans), ['true: root [0,100) 100', 'quarantined: hold', 'quarantined 1']);
});

test('a hold that outlives the root detaches nothing', () => {
  const spans = [
    { id: '1', name: 'root', start: 0, end: 100 },
    { id: '2', parent: '1', name: 'hold', attributes: hold, start: 10, end: 900 },
  ];
  assert.deepEqual(dump(spans), ['true: root [0,100) 100', 'hold: hold']);
});
