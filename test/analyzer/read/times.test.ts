import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decimalToBigInt, parseJson } from '../../../analyzer/src/read/parse-json.ts';
import { microsToUnixNano, timestampToUnixNano, toUnixNano } from '../../../analyzer/src/read/times.ts';

/** As it stands in a JSON text. */
const NANOS: readonly (readonly [string, bigint | null])[] = [
  ['"1750000000000000001"', 1750000000000000001n],
  ['1750000000000000001', 1750000000000000001n],
  ['1.750000000000000001e18', 1750000000000000001n],
  ['"1.75e18"', 1750000000000000000n],
  ['{"low":1,"high":407453795}', 1750000724156088321n],
  ['{"low":-1,"high":0,"unsigned":true}', 4294967295n],
  ['0', 0n],
  ['"12"', 12n],
  ['" 12 "', 12n],
  ['4294967295999999999', 4294967295999999999n],
  // What the table cannot hold is unknown, never something else.
  ['4294967296000000000', null],
  ['18446744073709551615', null],
  ['-1', null],
  ['"-1750000000000000001"', null],
  ['""', null],
  ['"soon"', null],
  ['"2026-01-01T00:00:00Z"', null],
  ['"NaN"', null],
  ['null', null],
  ['true', null],
  ['[1]', null],
  ['{}', null],
  ['1e400', null],
  ['"1e999999999"', null],
  [`"${'9'.repeat(5000)}"`, null],
];

for (const [text, expected] of NANOS) {
  test(`the time ${text.slice(0, 40)} is ${expected}`, () => {
    const value = (parseJson(`{"t":${text}}`) as { t: unknown }).t;
    assert.equal(toUnixNano(value), expected);
  });
}

test('microseconds become exact nanoseconds', () => {
  assert.equal(microsToUnixNano(1750000000123457), 1750000000123457000n);
  assert.equal(microsToUnixNano('1750000000123457'), 1750000000123457000n);
  assert.equal(microsToUnixNano(1750000000123457n), 1750000000123457000n);
  assert.equal(microsToUnixNano('1750000000123457.25'), 1750000000123457250n);
  assert.equal(microsToUnixNano(0.5), 500n);
  assert.equal(microsToUnixNano('x'), null);
  assert.equal(microsToUnixNano(undefined), null);
  assert.equal(microsToUnixNano(Number.NaN), null);
});

test('integers beyond 2^53 survive, wherever they stand', () => {
  assert.deepEqual(parseJson('[9007199254740993, -9007199254740993,9007199254740992]'), [
    9007199254740993n,
    -9007199254740993n,
    9007199254740992n,
  ]);
  assert.deepEqual(parseJson('{"a": 9007199254740993}'), { a: 9007199254740993n });
  assert.deepEqual(parseJson('9007199254740993'), 9007199254740992, 'a bare number is no export');
  assert.deepEqual(parseJson('{"a":1e300,"b":0.1,"c":1.5e2}'), { a: 1e300, b: 0.1, c: 150 });
  assert.deepEqual(parseJson('{"a":"9007199254740993"}'), { a: '9007199254740993' });
});

test('decimals are shifted without rounding', () => {
  assert.equal(decimalToBigInt('1.2345', 3), 1234n);
  assert.equal(decimalToBigInt('-1.5', 3), -1500n);
  assert.equal(decimalToBigInt('1e-3', 3), 1n);
  assert.equal(decimalToBigInt('.', 0), null);
  assert.equal(decimalToBigInt('1.2.3', 0), null);
});

test('timestamps keep their nanoseconds and mind their zone', () => {
  assert.equal(timestampToUnixNano('2025-06-15T15:06:40.000000001Z'), 1750000000000000001n);
  assert.equal(timestampToUnixNano('2025-06-15T17:06:40.5+02:00'), 1750000000500000000n);
  assert.equal(timestampToUnixNano('1969-12-31T23:59:59Z'), null);
  assert.equal(timestampToUnixNano('2025-13-15T15:06:40Z'), null);
  assert.equal(timestampToUnixNano('yesterday'), null);
});
