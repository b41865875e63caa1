import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOf } from '../../../instrumentation/src/adapters/outcome.ts';

const error = (message: string, more: object = {}) => Object.assign(new Error(message), more);

/** What the libraries give to a waiter, and how its wait ended. */
const CASES: [string, unknown, string, string | undefined][] = [
  ['tarn', error('operation timed out for an unknown reason'), 'timeout', 'timeout'],
  ['sequelize-pool', error('Pool acquire operation timeout'), 'timeout', 'timeout'],
  ['generic-pool', error('ResourceRequest timed out', { name: 'TimeoutError' }), 'timeout', 'timeout'],
  ['generic-pool', error('max waitingClients count exceeded'), 'rejected', 'Error'],
  ['tarn', error('aborted'), 'aborted', undefined],
  ['mysql2', error('Queue limit reached.'), 'rejected', 'Error'],
  ['mysql2', error('No connections available.'), 'rejected', 'Error'],
  ['mysql2', error('Pool is closed.'), 'aborted', undefined],
  ['mysql2', error('connect ETIMEDOUT', { code: 'ETIMEDOUT' }), 'timeout', 'timeout'],
  [
    'mysql2',
    error('Connection lost: closed', { code: 'PROTOCOL_CONNECTION_LOST' }),
    'rejected',
    'PROTOCOL_CONNECTION_LOST',
  ],
  ['postgres', error('write CONNECT_TIMEOUT db:5432', { code: 'CONNECT_TIMEOUT' }), 'timeout', 'timeout'],
  ['postgres', error('write CONNECTION_ENDED', { code: 'CONNECTION_ENDED' }), 'aborted', undefined],
  [
    'postgres',
    error('write CONNECTION_CLOSED', { code: 'CONNECTION_CLOSED' }),
    'rejected',
    'CONNECTION_CLOSED',
  ],
  ['postgres', error('canceling statement due to user request', { code: '57014' }), 'aborted', undefined],
  ['net', error('connect ECONNREFUSED', { code: 'ECONNREFUSED' }), 'rejected', 'ECONNREFUSED'],
  ['ioredis', error('Command timed out'), 'timeout', 'timeout'],
  ['ioredis', error('Connection is closed.'), 'aborted', undefined],
  ['p-limit', new DOMException('This operation was aborted', 'AbortError'), 'aborted', undefined],
  ['anything', 'a text', 'rejected', '_OTHER'],
  ['anything', undefined, 'rejected', '_OTHER'],
];

for (const [library, reason, outcome, errorType] of CASES) {
  test(`${library}: ${String(reason)} is ${outcome}`, () => {
    assert.deepEqual(outcomeOf(reason), { outcome, errorType });
  });
}
