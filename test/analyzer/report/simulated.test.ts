import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { jsonReport } from '../../../analyzer/src/report/json.ts';
import { markdownReport, textReport } from '../../../analyzer/src/report/render.ts';
import { requestLines } from '../../../analyzer/src/report/requests.ts';
import { width } from '../../../analyzer/src/report/width.ts';
import { demands } from '../../sim/demand.ts';
import { toInput } from '../../sim/export/index.ts';
import { type ExportOptions, FULL_EXPORT } from '../../sim/export/types.ts';
import { blueprint, type Coverage, planLoad } from '../../sim/generate.ts';
import { simulate } from '../../sim/simulate.ts';
import { assertFollowsSchema } from './schema.ts';

const RUNS: [name: string, seed: number, coverage: Coverage, options: Partial<ExportOptions>][] = [
  ['past the knee', 1, 'rising', {}],
  ['below the knee', 4, 'below', {}],
  ['one window', 5, 'single', {}],
  ['without a plan', 6, 'rising', { loadPlan: false }],
  ['official spans only', 3, 'rising', { spans: 'official', clock: 'milliseconds' }],
  ['one request in ten', 2, 'rising', { sampling: { kind: 'head', rate: 0.1 } }],
];

for (const [name, seed, coverage, options] of RUNS) {
  test(`a simulated run gives a whole report: ${name}`, () => {
    const print = blueprint(seed);
    const knee = Math.min(...demands(print.scenario).map((demand) => demand.saturatesAtPerSecond));
    const run = simulate(planLoad(print, knee, 600, coverage), { record: true, stopAtEnd: false });
    const analysis = analyze(toInput(run, { ...FULL_EXPORT, ...options }));
    const report = buildReport(analysis, { by: 'http.route' });
    assertFollowsSchema(jsonReport(report));
    const text = textReport(report);
    for (const line of text.split('\n')) assert.ok(width(line) <= 80, line);
    assert.equal(text.match(VERDICT_LINE)?.length, 1, text.slice(0, 600));
    for (const rendered of [text, markdownReport(report)]) {
      assert.doesNotMatch(rendered, /NaN|Infinity|undefined|\bnull\b|\[object/);
    }
    for (const line of requestLines(analysis)) {
      const { segmentsNs, durationNs } = JSON.parse(line);
      assert.equal(
        Object.values<number>(segmentsNs).reduce((sum, ns) => sum + ns, 0),
        durationNs,
      );
    }
  });
}

const VERDICT_LINE = /^(First saturating queue: |No queue saturated up to |Not enough )/gm;
