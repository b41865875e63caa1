import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { jsonReport } from '../../../analyzer/src/report/json.ts';
import { analyzeText } from './analyze-text.ts';
import { exampleReport } from './example.ts';
import { otlp, signup, type TestSpan } from './otlp.ts';
import { assertFollowsSchema, validate } from './schema.ts';

const many = (count: number): TestSpan[] =>
  Array.from({ length: count }, (_, i) => signup(i + 1, i * 20_000_000, i % 5)).flat();

const inputs: Readonly<Record<string, string>> = {
  'one request': otlp(signup(1, 0)),
  'many requests': otlp(many(200)),
  'no request at all': '{"resourceSpans":[]}',
  'orphans only': otlp([{ id: 2, parent: 1, start: 0, end: 10 }]),
  'a request of no duration': otlp([{ id: 1, start: 3, end: 3 }]),
  'a broken line': `${otlp(signup(1, 0))}\n{"resourceSpans":`,
};

for (const [name, content] of Object.entries(inputs)) {
  test(`the JSON report follows its schema: ${name}`, async () => {
    const analysis = await analyzeText({ 'a.jsonl': content });
    assertFollowsSchema(jsonReport(buildReport(analysis)));
    assertFollowsSchema(jsonReport(buildReport(analysis, { by: 'tenant' })));
  });
}

test('a full report follows the schema', () => assertFollowsSchema(jsonReport(exampleReport())));

test('the schema refuses what the design does not have', () => {
  const report = JSON.parse(jsonReport(exampleReport()));
  assert.ok(!validate({ ...report, extra: 1 }));
  assert.ok(!validate({ ...report, schemaVersion: 2 }));
  assert.ok(!validate({ ...report, requests: { ...report.requests, coverage: 1.5 } }));
});
