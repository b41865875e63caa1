import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parentOf } from '../../instrumentation/src/standalone/propagator.ts';

/** https://www.w3.org/TR/trace-context/#traceparent-header, as a pattern: what the reader by position must agree with. */
const PATTERN = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/s;

function expected(header: string) {
  const match = PATTERN.exec(header);
  if (match === null || (match[1] === '00' && match[5] !== undefined)) return undefined;
  return { traceId: match[2], spanId: match[3], traceFlags: Number.parseInt(match[4], 16) & 1 };
}

function found(header: string) {
  const span = parentOf(header, undefined);
  return span && { traceId: span.traceId, spanId: span.spanId, traceFlags: span.traceFlags };
}

const hex = (length: number) =>
  fc.string({
    unit: fc.constantFrom(...'0123456789abcdef00ff'),
    minLength: length,
    maxLength: length,
  });
const valid = fc
  .tuple(
    fc.constantFrom('00', '01', 'cc', 'ff'),
    hex(32),
    hex(16),
    hex(2),
    fc.constantFrom('', '-', '-x', '0'),
  )
  .map(([version, trace, span, flags, rest]) => `${version}-${trace}-${span}-${flags}${rest}`);

test('headers of the right shape are read as the pattern reads them', () => {
  fc.assert(fc.property(valid, (header) => assert.deepEqual(found(header), expected(header))));
});

test('a header with one character changed is read as the pattern reads it', () => {
  const character = fc.oneof(
    fc.constantFrom('A', 'F', 'g', '-', ' ', '\u00b0', '\u0130', '0', ''),
    fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }),
  );
  fc.assert(
    fc.property(valid, fc.nat(60), character, (header, at, changed) => {
      const broken = header.slice(0, at) + changed + header.slice(at + 1);
      assert.deepEqual(found(broken), expected(broken), JSON.stringify(broken));
    }),
    { numRuns: 2_000 },
  );
});

test('a parent is remote, and its state goes on', () => {
  const span = parentOf(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, ['x=1', 'y=2']);
  assert.equal(span?.isRemote, true);
  assert.equal(span?.traceState?.serialize(), 'x=1,y=2');
  assert.equal(parentOf(undefined, 'x=1'), undefined);
});
