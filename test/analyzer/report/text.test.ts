import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { layOut } from '../../../analyzer/src/report/layout.ts';
import { renderMarkdown } from '../../../analyzer/src/report/markdown.ts';
import { PLAIN, renderText } from '../../../analyzer/src/report/text.ts';
import type { Report } from '../../../analyzer/src/report/types.ts';
import { width } from '../../../analyzer/src/report/width.ts';
import { analyzeText } from './analyze-text.ts';
import { exampleReport } from './example.ts';
import { golden } from './golden.ts';
import { otlp, signup } from './otlp.ts';

const text = (report: Report, style = PLAIN) => renderText(layOut(report), style);
const withVerdict = (verdict: Partial<Report['verdict']>): Report => {
  const report = exampleReport();
  return { ...report, verdict: { ...report.verdict, ...verdict } };
};

test('a full report as text', () => golden('full.txt', text(exampleReport())));
test('a full report in ASCII', () =>
  golden('full-ascii.txt', text(exampleReport(), { columns: 80, ascii: true, color: false })));
test('a full report as Markdown', () => golden('full.md', renderMarkdown(layOut(exampleReport()))));

test('no line is wider than 80 cells, and ASCII is ASCII', async () => {
  const analysis = await analyzeText({
    'a.json': otlp([...signup(1, 0, 0, { tenant: '大企業'.repeat(40) }), ...signup(2, 9e6, 50)]),
  });
  const split = text(buildReport(analysis, { by: 'tenant' }));
  const ascii = text(buildReport(analysis, { by: 'tenant' }), { columns: 80, ascii: true, color: false });
  for (const each of [text(exampleReport()), split, ascii]) {
    for (const line of each.split('\n')) assert.ok(width(line) <= 80, line);
  }
  assert.match(ascii, /^[\n -~]*$/);
});

const VERDICT_LINE = /^(First saturating queue: |No queue saturated up to |Not enough )/gm;

test('exactly one line gives the verdict', () => {
  const cases: [Partial<Report['verdict']>, RegExp][] = [
    [{}, /^First saturating queue: lock:campaign at 137\/s \(its demand alone: 142\/s\)$/m],
    [
      { status: 'not-saturated', first: null, kneePerSecond: null, chain: [] },
      /^No queue saturated up to 140\/s; next: pg-pool:signup at about 310\/s$/m,
    ],
    [{ status: 'not-enough-data', first: null }, /^Not enough data to name the first saturating queue$/m],
    [
      { status: 'not-enough-load-variation', first: null },
      /^Not enough load variation to name the first saturating queue$/m,
    ],
  ];
  for (const [verdict, expected] of cases) {
    const out = text(withVerdict(verdict));
    assert.match(out, expected);
    assert.equal(out.match(VERDICT_LINE)?.length, 1, out);
  }
});

test('colour only adds codes', () => {
  const colored = text(exampleReport(), { columns: 80, ascii: false, color: true });
  assert.equal(colored.replaceAll(/\u001b\[\d+m/g, ''), text(exampleReport()));
  assert.ok(colored.includes('\u001b[1m'));
});

test('names of the input reach neither the terminal raw nor Markdown as markup', async () => {
  const evil = 'a\u001b[31mb\u0007\r\n\u202e\u200b<img src=x>|`*[l](u)\ud800';
  const analysis = await analyzeText({
    'a.json': otlp([
      { id: 1, name: evil, start: 0, end: 100, service: evil, attributes: { tenant: evil } },
      {
        id: 2,
        parent: 1,
        start: 10,
        end: 90,
        service: evil,
        attributes: { 'waitfall.segment': 'pool_wait', 'waitfall.resource': evil },
      },
    ]),
  });
  const report = buildReport(analysis, { by: 'tenant' });
  const shown = text(report);
  assert.doesNotMatch(
    shown,
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\ud800-\udfff]/,
  );
  assert.ok(shown.includes('a·[31mb·'));
  const markdown = renderMarkdown(layOut(report));
  assert.doesNotMatch(markdown, /<img|[^\\]`|[^\\]\[l\]/);
  for (const row of markdown.split('\n').filter((line) => line.startsWith('|'))) {
    assert.ok(row.endsWith('|'), row);
  }
});

test('what is unknown is a dash, and nothing is NaN', async () => {
  for (const content of [otlp([{ id: 1, start: 0, end: 0 }]), otlp(signup(1, 0)), '{"resourceSpans":[]}']) {
    const out = text(buildReport(await analyzeText({ 'a.json': content })));
    assert.doesNotMatch(out, /NaN|Infinity|undefined|null|\[object/);
  }
});

test('an input without traces says what each file held', async () => {
  const analysis = await analyzeText({ 'empty.json': '{}', 'text.json': 'hello' });
  const out = text(buildReport(analysis));
  assert.match(out, /^No usable trace in the input$/m);
  assert.equal(out.match(/^ {2}- .*(empty|text)\.json: .*, 0 spans/gm)?.length ?? 0, 2, out);
});

test('a split names the value that explains the slow part', async () => {
  const spans = Array.from({ length: 200 }, (_, i) =>
    signup(i + 1, i * 9_000_000, i % 20 === 0 ? 400 : 0, { tenant: i % 20 === 0 ? 'big' : `small ${i % 3}` }),
  ).flat();
  const explained = buildReport(await analyzeText({ 'a.json': otlp(spans) }), { by: 'tenant' });
  assert.deepEqual(explained.by?.explanation, {
    value: 'big',
    shareOfSlow: 1,
    shareOfAll: 0.05,
    slowAboveNs: 60_000_000,
    p99Ns: 460_000_000,
    p99WithoutNs: 60_000_000,
  });
  assert.match(text(explained), /tenant = big explains the slow part/);
  const route = buildReport(await analyzeText({ 'a.json': otlp(spans) }), { by: 'http.route' });
  assert.equal(route.by?.explanation, null, 'one value that everybody has explains nothing');
});
