import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseChange } from '../../../analyzer/src/infer/change.ts';
import { parseObjective } from '../../../analyzer/src/infer/objective.ts';
import { predict } from '../../../analyzer/src/infer/what-if.ts';
import { frame, model } from './sketch.ts';

test('changes are parsed as they are printed', () => {
  assert.deepEqual(parseChange('lock:campaign hold x0.25'), { resource: 'lock:campaign', hold: 0.25 });
  assert.deepEqual(parseChange('pg-pool:signup capacity 20'), { resource: 'pg-pool:signup', capacity: 20 });
  assert.deepEqual(parseChange('risk-api:443  visits  x0.5'), { resource: 'risk-api:443', visits: 0.5 });
  assert.deepEqual(parseChange('my pool capacity 3'), { resource: 'my pool', capacity: 3 });
});

for (const text of [
  '',
  'lock:campaign',
  'lock:campaign hold 0.25',
  'a hold x0',
  'a capacity 0',
  'a capacity -3',
  'a capacity x2',
]) {
  test(`'${text}' is no change, and the error says what is`, () => {
    assert.throws(() => parseChange(text), /hold x0\.5.*capacity 20/);
  });
}

test('objectives are parsed', () => {
  assert.deepEqual(parseObjective('p99<200ms,errors<0.1%'), { p99Ns: 200e6, errorShare: 0.001 });
  assert.deepEqual(parseObjective('p99.9 < 1.5s, goodput > 80/s'), { p999Ns: 1.5e9, goodputPerSecond: 80 });
});

for (const text of ['p99>200ms', 'p42<1ms', 'p99<200', 'errors<x', '']) {
  test(`'${text}' is no objective`, () => assert.throws(() => parseObjective(text), /not understood/));
}

test('more servers where nobody knows how many there are have no known effect', () => {
  const server = model({
    index: 0,
    name: 'risk:443',
    kind: 'downstream',
    saturatesAt: 80,
    waitMs: [0, 0, 1, 9, 90, 200],
  });
  const pool = model({ index: 1, name: 'pool', kind: 'pool', saturatesAt: 300, waitMs: [0, 0, 0, 0, 0, 0] });
  const { kneePerSecond, text } = predict(
    'risk:443 capacity 20',
    [{ ...server, capacity: null }, pool],
    frame(),
    null,
  );
  assert.equal(kneePerSecond, null);
  assert.match(text, /how many servers risk:443 has now is unknown/);
});
