import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Analysis } from '../../../analyzer/src/infer/analysis.ts';
import { compareRuns } from '../../../analyzer/src/infer/compare/index.ts';
import { sizeQueues } from '../../../analyzer/src/infer/queue-size.ts';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { layOutComparison } from '../../../analyzer/src/report/compare.ts';
import { jsonReport } from '../../../analyzer/src/report/json.ts';
import { markdownReport, textReport } from '../../../analyzer/src/report/render.ts';
import { requestLines } from '../../../analyzer/src/report/requests.ts';
import { layOutSizes } from '../../../analyzer/src/report/size.ts';
import { PLAIN, renderText } from '../../../analyzer/src/report/text.ts';
import { renderTrace } from '../../../analyzer/src/report/trace/render.ts';
import { width } from '../../../analyzer/src/report/width.ts';
import { Random } from '../../sim/random.ts';
import { analyzeText } from './analyze-text.ts';
import { randomDocument, randomPlan } from './random-input.ts';
import { assertFollowsSchema } from './schema.ts';

const ROUNDS = 40;
const VERDICT = /^(First saturating queue: |No queue saturated up to |Not enough |A queue saturated)/gm;

/** Nothing is printed that means a value was computed wrong, and nothing is wider than the page. */
function assertReadable(text: string): void {
  const bad = /NaN|Infinity|undefined|\bnull\b|\[object/.exec(text);
  assert.equal(bad, null, bad ? text.slice(Math.max(0, bad.index - 80), bad.index + 40) : '');
  for (const line of text.split('\n')) assert.ok(width(line) <= 80, line);
}

test('whatever the spans say, every form of the answer is whole', async (t) => {
  let previous: Analysis | null = null;
  for (let seed = 1; seed <= ROUNDS; seed++) {
    await t.test(`seed ${seed}`, async () => {
      const random = new Random(seed, 7);
      const files: Record<string, string> = {
        'a.json': randomDocument(random),
        'b.json': randomDocument(random),
      };
      if (random.chance(0.4)) files['load.json'] = randomPlan(random);
      const analysis: Analysis = await analyzeText(files, {
        whatIf: ['lock:c hold x0.5', 'pg-pool:a capacity 3'],
      });
      const report = buildReport(analysis, { by: 'http.route' });
      assertFollowsSchema(jsonReport(report));
      const text = textReport(report);
      assertReadable(text);
      if (analysis.forest.trees.length > 0) assert.equal(text.match(VERDICT)?.length, 1, text.slice(0, 400));
      assert.doesNotMatch(markdownReport(report), /NaN|Infinity|undefined|\[object/);
      for (const line of requestLines(analysis)) {
        const { segmentsNs, durationNs } = JSON.parse(line);
        const sum = Object.values<number>(segmentsNs).reduce((all, ns) => all + ns, 0);
        assert.equal(sum, durationNs, line);
      }
      if (analysis.forest.table.traceIds.length > 0) assertReadable(renderTrace(analysis, 0, PLAIN));
      const sizes = sizeQueues(analysis.resources, 100, 5e6);
      assertReadable(renderText(layOutSizes(sizes, 100, 5e6)));
      if (previous !== null) {
        const comparison = compareRuns(previous, analysis);
        assertReadable(renderText(layOutComparison(comparison, { before: 'a', after: 'b' })));
      }
      previous = analysis;
    });
  }
});
