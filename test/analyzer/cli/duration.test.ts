import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suggest } from '../../../analyzer/src/cli/suggest.ts';
import { parseDuration, parseTime } from '../../../analyzer/src/model/duration.ts';

test('durations', () => {
  const cases: [string, number | null][] = [
    ['1ms', 1_000_000],
    ['250us', 250_000],
    ['250µs', 250_000],
    ['2s', 2_000_000_000],
    ['1.5 s', 1_500_000_000],
    ['3min', 180_000_000_000],
    ['10ns', 10],
    ['0', 0],
    ['5', null],
    ['-1ms', null],
    ['1 parsec', null],
    ['', null],
  ];
  for (const [text, ns] of cases) assert.equal(parseDuration(text), ns, text);
});

test('times', () => {
  const cases: [string, bigint | null][] = [
    ['1760000000', 1_760_000_000_000_000_000n],
    ['1760000000123', 1_760_000_000_123_000_000n],
    ['1760000000123456789', 1_760_000_000_123_456_789n],
    ['2025-10-09T08:53:20Z', 1_760_000_000_000_000_000n],
    ['2025-10-09 08:53:20.000000001', 1_760_000_000_000_000_001n],
    ['2025-10-09T10:53:20+02:00', 1_760_000_000_000_000_000n],
    ['2025-10-09T08:53', 1_759_999_980_000_000_000n],
    ['2025-13-09T08:53:20Z', null],
    ['now', null],
    ['12', null],
  ];
  for (const [text, unixNano] of cases) assert.equal(parseTime(text), unixNano, text);
});

test('a slip of the keyboard is recognised, another word is not', () => {
  const commands = ['report', 'trace', 'compare', 'size'];
  assert.equal(suggest('reprot', commands), 'report');
  assert.equal(suggest('comapre', commands), 'compare');
  assert.equal(suggest('trce', commands), 'trace');
  assert.equal(suggest('data.json', commands), null);
  assert.equal(suggest('run', commands), null);
});
