import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { analyze } from '../../analyzer/src/infer/analysis.ts';
import { buildReport } from '../../analyzer/src/report/build.ts';
import { jsonReport } from '../../analyzer/src/report/json.ts';
import { markdownReport, textReport } from '../../analyzer/src/report/render.ts';
import { requestLines } from '../../analyzer/src/report/requests.ts';
import { PLAIN } from '../../analyzer/src/report/text.ts';
import { renderTrace } from '../../analyzer/src/report/trace/render.ts';
import { anySpansOfRequests, inputOf } from './random-spans.ts';
import { tableOf } from './tree/spans.ts';

test('whatever the spans say, every output is made and every request adds up', () => {
  fc.assert(
    fc.property(anySpansOfRequests, (spans) => {
      const table = tableOf(spans);
      const analysis = analyze(inputOf(table));
      const report = buildReport(analysis);
      const lines = [...requestLines(analysis)];
      const outputs = [textReport(report), markdownReport(report), jsonReport(report), ...lines];
      for (let trace = 0; trace < table.traceIds.length; trace++) {
        outputs.push(renderTrace(analysis, trace, PLAIN));
      }
      for (const output of outputs) {
        assert.doesNotMatch(output, /\bNaN\b|\bInfinity\b|\bundefined\b|\[object Object\]/);
      }
      for (const { durationNs, segmentsNs } of lines.map((line) => JSON.parse(line))) {
        const owned = Object.values<number>(segmentsNs).reduce((a, b) => a + b, 0);
        assert.equal(owned, durationNs);
      }
    }),
    { numRuns: 150 },
  );
});
