import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitRequests } from '../../../analyzer/src/aggregate/split.ts';
import { analyzeText } from './analyze-text.ts';
import { otlp, type TestSpan } from './otlp.ts';

async function valuesOf(spans: readonly TestSpan[], key: string) {
  const { forest, requests } = await analyzeText({ 'a.json': otlp(spans) });
  const members = Int32Array.from({ length: requests.count }, (_, i) => i);
  return splitRequests(forest, requests, members, key).map(({ value, members: own }) => [value, own.length]);
}

const load: TestSpan = { id: 1, name: 'GET', kind: 3, start: 0, end: 100, service: 'load' };
const served: TestSpan = {
  id: 2,
  parent: 1,
  kind: 2,
  start: 10,
  end: 90,
  service: 'shop',
  attributes: { tenant: 'a' },
};

test('an attribute of the root wins', async () => {
  const root = { ...load, attributes: { tenant: 'root' } };
  assert.deepEqual(await valuesOf([root, served], 'tenant'), [['root', 1]]);
});

test('below a load generator, span and process of the service count', async () => {
  assert.deepEqual(await valuesOf([load, served], 'tenant'), [['a', 1]]);
  assert.deepEqual(await valuesOf([load, served], 'service.name'), [['shop', 1]]);
});

test('else the outermost span that has it; numbers and booleans as text, absent as null', async () => {
  const inner = { id: 3, parent: 2, start: 20, end: 30, attributes: { shard: 7, cached: true } };
  const innermost = { id: 4, parent: 3, start: 21, end: 29, attributes: { shard: 8 } };
  assert.deepEqual(await valuesOf([load, served, inner, innermost], 'shard'), [['7', 1]]);
  assert.deepEqual(await valuesOf([load, served, inner], 'cached'), [['true', 1]]);
  assert.deepEqual(await valuesOf([load, served], 'nothing'), [[null, 1]]);
});

test('values come by the time of their requests; beyond fifty the rest stands together', async () => {
  const spans = Array.from({ length: 80 }, (_, i) => ({
    trace: i + 1,
    id: i + 1,
    start: 0,
    end: 1000 - i,
    attributes: { user: `u${i}` },
  }));
  const values = await valuesOf(spans, 'user');
  assert.equal(values.length, 50);
  assert.deepEqual(values.slice(0, 2), [
    ['u0', 1],
    ['u1', 1],
  ]);
  assert.deepEqual(values.at(-1), ['(other values)', 31]);
});
