import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalId, SPAN_DIGITS, TRACE_DIGITS } from '../../../analyzer/src/read/ids.ts';

const SPAN_CASES: readonly (readonly [unknown, string])[] = [
  ['00f067aa0ba902b7', '00f067aa0ba902b7'],
  ['00F067AA0BA902B7', '00f067aa0ba902b7'],
  ['f067aa0ba902b7', '00f067aa0ba902b7'],
  ['A', '000000000000000a'],
  ['APBnqgupArc=', '00f067aa0ba902b7'],
  ['APBnqgupArc', '00f067aa0ba902b7'],
  ['-_-_-_-_-_8', 'fbffbffbffbffbff'],
  ['+/+/+/+/+/8=', 'fbffbffbffbffbff'],
  [Buffer.from('00f067aa0ba902b7').toString('base64'), '00f067aa0ba902b7'],
  [Buffer.from('00F067AA0BA902B7').toString('base64url'), '00f067aa0ba902b7'],
  // Base64 of something else, or almost base64: the text itself is the id.
  ['span-1', 'span-1'],
  ['zzz', 'zzz'],
  ['INVALID==', 'INVALID=='],
  ['APBnqgupAr1=', 'APBnqgupAr1='],
  ['0af7651916cd43dd8448eb211c80319c', '0af7651916cd43dd8448eb211c80319c'],
  [12345, '12345'],
  [12345678901234567890n, '12345678901234567890'],
  ['', ''],
  ['0', ''],
  ['0000000000000000', ''],
  ['00000000000000000000000000000000', ''],
  ['AAAAAAAAAAA=', ''],
  [0, ''],
  [undefined, ''],
  [null, ''],
  [{}, ''],
];

for (const [value, expected] of SPAN_CASES) {
  const shown = typeof value === 'bigint' ? `${value}n` : JSON.stringify(value);
  test(`span id ${shown} is ${expected === '' ? 'no id' : expected}`, () => {
    assert.equal(canonicalId(value, SPAN_DIGITS), expected);
  });
}

test('a 64-bit trace id is the 128-bit one with a zero high half', () => {
  assert.equal(
    canonicalId('53995c3f42cd8ad8', TRACE_DIGITS),
    canonicalId('000000000000000053995C3F42CD8AD8', TRACE_DIGITS),
  );
  assert.equal(canonicalId('CvdlGRbNQ92ESOshHIAxnA==', TRACE_DIGITS), '0af7651916cd43dd8448eb211c80319c');
});
