import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timingMs } from '../../sample-app/src/load/client.ts';
import { outcomeOf } from '../../sample-app/src/load/outcome.ts';

const get = { name: 'get', share: 1, method: 'GET', path: '/' };
const json = 'application/json; charset=utf-8';

for (const [request, status, type, body, expected] of [
  [get, 200, json, '{}', 'succeeded'],
  [get, 200, json, '{', 'invalid'],
  [get, 200, 'text/plain', '{', 'succeeded'],
  [get, 204, '', '', 'succeeded'],
  [get, 503, json, '{}', 'rejected'],
  [get, 429, json, '{}', 'rejected'],
  [get, 500, json, '{}', 'invalid'],
  [get, 404, json, '{}', 'invalid'],
  [{ ...get, success: [409] }, 409, json, '{}', 'succeeded'],
  [{ ...get, success: [409] }, 200, json, '{}', 'invalid'],
  [{ ...get, rejected: [418] }, 418, json, '{}', 'rejected'],
  [{ ...get, rejected: [418] }, 503, json, '{}', 'invalid'],
] as const) {
  test(`status ${status}, ${type || 'no type'}, body "${body}": ${expected}`, () => {
    assert.equal(outcomeOf(request, status, type, body), expected);
  });
}

test('Server-Timing: the duration of the entry of that name', () => {
  const header = 'cache;desc="hit, miss", queue;dur=12.5, work;desc="x";dur=3';
  assert.equal(timingMs(header, 'queue'), 12.5);
  assert.equal(timingMs(header, 'work'), 3);
  assert.equal(timingMs(header, 'database'), null);
  assert.equal(timingMs('', 'queue'), null);
});
