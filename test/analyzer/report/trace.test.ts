import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { PLAIN } from '../../../analyzer/src/report/text.ts';
import { renderTrace } from '../../../analyzer/src/report/trace/render.ts';
import { LETTERS, strip } from '../../../analyzer/src/report/trace/strip.ts';
import { width } from '../../../analyzer/src/report/width.ts';
import { analyzeText } from './analyze-text.ts';
import { golden } from './golden.ts';
import { otlp, signup, type TestSpan } from './otlp.ts';

const trace = async (spans: readonly TestSpan[], style = PLAIN) =>
  renderTrace(await analyzeText({ 'a.json': otlp(spans) }), 0, style);

test('one trace as a waterfall, a strip and its pieces', async () =>
  golden('trace.txt', await trace(signup(1, 0, 30))));

test('orphans, detached spans and cycles of one trace', async () =>
  golden(
    'trace-broken.txt',
    await trace([
      { id: 1, name: 'root', start: 0, end: 1_000_000 },
      { id: 2, parent: 1, name: 'mail', kind: 5, start: 500_000, end: 90_000_000, service: 'mailer' },
      { id: 3, parent: 99, name: 'late', start: 100, end: 900 },
      { id: 4, parent: 5, name: 'ring a', start: 2_000, end: 3_000 },
      { id: 5, parent: 4, name: 'ring b', start: 2_200, end: 2_700 },
      { id: 6, parent: 1, name: 'backwards', start: 900, end: 100 },
    ]),
  ));

test('alike leaves are folded with their count, others are not', async () => {
  const out = await trace([
    { id: 1, name: 'root', start: 0, end: 1000 },
    ...Array.from({ length: 30 }, (_, i) => ({
      id: i + 2,
      parent: 1,
      name: i === 7 ? 'odd one' : 'SELECT',
      start: i * 30,
      end: i * 30 + 10,
    })),
  ]);
  assert.match(out, /SELECT ×29 .* 290 ns/);
  assert.match(out, /odd one/);
});

test('holds that are spans of their own are listed beside the tree', async () => {
  const hold = { 'waitfall.segment': 'hold', 'waitfall.resource': 'lock:t' };
  const out = await trace([
    { id: 1, name: 'root', start: 0, end: 1000 },
    { id: 2, parent: 1, name: 'hold', start: 300, end: 1500, attributes: hold },
  ]);
  assert.match(out, /- lock:t: held 1\.2 µs from \+300 ns/);
});

test('a strip gives every cell to the segment that owns most of it', () => {
  const pieces = [
    { row: 0, start: 0, end: 45 },
    { row: 1, start: 45, end: 90 },
    { row: 2, start: 90, end: 100 },
  ];
  const segment = ['lock_wait', 'work', 'unaccounted'] as const;
  const at = (row: number) => SEGMENTS.indexOf(segment[row]);
  assert.equal(strip(pieces, at, 100, 10), 'LLLLLwwww.');
  assert.equal(strip([], at, 0, 10), '');
});

test('every segment has a letter of its own', () => {
  assert.equal(new Set(LETTERS).size, SEGMENTS.length);
});

test('a deep trace stays inside 80 columns', async () => {
  const spans = Array.from({ length: 300 }, (_, i) => ({
    id: i + 1,
    ...(i === 0 ? {} : { parent: i }),
    name: `level ${i}`,
    start: i,
    end: 2000 - i,
  }));
  const out = await trace(spans);
  for (const line of out.split('\n')) assert.ok(width(line) <= 80, line);
  assert.match(out, /180 lines with less own time are left out\./);
});
