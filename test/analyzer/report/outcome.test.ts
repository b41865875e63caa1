import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestLines } from '../../../analyzer/src/report/requests.ts';
import { analyzeText } from './analyze-text.ts';
import { otlp, type TestSpan } from './otlp.ts';

type Attributes = TestSpan['attributes'];

async function only(spans: readonly TestSpan[]) {
  const [line] = [...requestLines(await analyzeText({ 'a.json': otlp(spans) }))];
  return JSON.parse(line);
}

const root = (attributes: Attributes, error = false): TestSpan => ({
  id: 1,
  name: 'request',
  kind: 2,
  start: 0,
  end: 1000,
  error,
  attributes,
});
const wait = (id: number, outcome: string, end: number): TestSpan => ({
  id,
  parent: 1,
  start: 0,
  end,
  error: outcome !== 'acquired',
  attributes: {
    'waitfall.segment': 'pool_wait',
    'waitfall.resource': 'pg-pool:a',
    'waitfall.outcome': outcome,
  },
});

const OUTCOMES: [name: string, spans: TestSpan[], outcome: string][] = [
  ['a plain request', [root({})], 'success'],
  ['a 404 is an answer', [root({ 'http.response.status_code': 404 })], 'success'],
  ['a 500', [root({ 'http.response.status_code': 500 })], 'error'],
  ['status ERROR alone', [root({}, true)], 'error'],
  ['a 503', [root({ 'http.response.status_code': 503 })], 'rejected'],
  ['a 429 under the old attribute name', [root({ 'http.status_code': 429 })], 'rejected'],
  ['a 504', [root({ 'http.response.status_code': 504 })], 'timeout'],
  ['a client that gave up', [root({ 'http.response.status_code': 499 })], 'aborted'],
  ['a client that left before the answer', [root({ 'error.type': 'client_closed' })], 'aborted'],
  [
    'a client that left in the middle of the answer',
    [root({ 'error.type': 'client_closed', 'http.response.status_code': 200 })],
    'aborted',
  ],
  ['error.type of a timeout', [root({ 'error.type': 'TimeoutError' }, true)], 'timeout'],
  ['error.type of an abort', [root({ 'error.type': 'AbortError' }, true)], 'aborted'],
  [
    'a 503 after a wait that timed out',
    [root({ 'http.response.status_code': 503 }), wait(2, 'timeout', 900)],
    'timeout',
  ],
  [
    'the wait that failed last says why',
    [root({ 'http.response.status_code': 500 }), wait(2, 'rejected', 100), wait(3, 'timeout', 900)],
    'timeout',
  ],
  [
    'a retry that worked is no failure',
    [root({ 'http.response.status_code': 200 }), wait(2, 'timeout', 100), wait(3, 'acquired', 900)],
    'success',
  ],
  ['an aborted wait, no status', [root({}), wait(2, 'aborted', 900)], 'aborted'],
  ['the root states its outcome', [root({ 'waitfall.outcome': 'aborted' })], 'aborted'],
];

for (const [name, spans, outcome] of OUTCOMES) {
  test(`outcome: ${name}`, async () => assert.equal((await only(spans)).outcome, outcome));
}

test('routes: template with method, old names, the server span below a client root, the name', async () => {
  const route = async (spans: TestSpan[]) => (await only(spans)).route;
  assert.equal(await route([root({ 'http.request.method': 'GET', 'http.route': '/a/:id' })]), 'GET /a/:id');
  assert.equal(await route([root({ 'http.method': 'PUT', 'http.route': '/a' })]), 'PUT /a');
  assert.equal(await route([root({ 'http.route': '/a' })]), '/a');
  assert.equal(await route([root({})]), 'request');
  assert.equal(
    await route([
      { id: 1, name: 'GET', kind: 3, start: 0, end: 100, service: 'load' },
      {
        id: 2,
        parent: 1,
        name: 'GET',
        kind: 2,
        start: 10,
        end: 90,
        attributes: { 'http.request.method': 'GET', 'http.route': '/b' },
      },
    ]),
    'GET /b',
  );
});
