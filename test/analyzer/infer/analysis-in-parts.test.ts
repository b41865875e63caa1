import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { loadRules } from '../../../analyzer/src/classify/rules.ts';
import { type AnalyzeOptions, analyze } from '../../../analyzer/src/infer/analysis.ts';
import { analyzeInParts, type PartProgress } from '../../../analyzer/src/infer/analysis-in-parts.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { memoryParts } from '../../../analyzer/src/model/memory-parts.ts';
import { startUnixNano } from '../../../analyzer/src/model/span-table.ts';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { jsonReport } from '../../../analyzer/src/report/json.ts';
import { textReport } from '../../../analyzer/src/report/render.ts';
import { demands } from '../../sim/demand.ts';
import { toInput } from '../../sim/export/index.ts';
import { type ExportOptions, FULL_EXPORT } from '../../sim/export/types.ts';
import { blueprint, FAMILIES } from '../../sim/generate.ts';
import type { Scenario } from '../../sim/scenario.ts';
import { simulate } from '../../sim/simulate.ts';
import { inSharedMemory, spilled } from '../parts.ts';
import { anySpansOfRequests, inputOf } from '../random-spans.ts';
import { tableOf } from '../tree/spans.ts';
import { hotRowInput } from '../tui/support.ts';

async function inParts(
  input: Input,
  parts: number,
  options: AnalyzeOptions,
  onPart?: (one: PartProgress) => void,
) {
  const limited = spilled(input, parts);
  const kept = limited.spilled;
  assert.ok(kept);
  try {
    return await analyzeInParts(limited, kept, options, onPart ? { onPart } : {});
  } finally {
    kept.close();
  }
}

async function assertSame(input: Input, parts: number, options: AnalyzeOptions = {}): Promise<void> {
  const answers = [
    analyze(input, options),
    await inParts(input, parts, options),
    await analyzeInParts(input, memoryParts(input.table, input.table.length / parts), options),
  ];
  const [whole, ...others] = answers.map((answer) => buildReport(answer));
  for (const other of others) {
    assert.equal(jsonReport(other), jsonReport(whole));
    assert.equal(textReport(other), textReport(whole));
  }
}

const VARIANTS: readonly (readonly [string, Partial<ExportOptions>])[] = [
  ['waitfall', {}],
  ['both', { spans: 'both', capacities: false }],
  ['official', { spans: 'official', loadPlan: false }],
  ['head sampling', { sampling: { kind: 'head', rate: 0.4 }, loadPlan: false }],
  ['tail sampling', { sampling: { kind: 'tail', rate: 0.2, slowShare: 0.05, stated: false } }],
  ['remote', { remote: 'instrumented', clock: 'jitter', lost: 0.02 }],
];

for (const [f, family] of FAMILIES.entries()) {
  const [name, change] = VARIANTS[f % VARIANTS.length];
  test(`in parts and as a whole: ${family}, ${name}`, async () => {
    const run = simulate(briefly(blueprint(40 + f, { family }).scenario), { record: true, stopAtEnd: false });
    const input = toInput(run, { ...FULL_EXPORT, ...change });
    for (const parts of [1, 2, 7]) await assertSame(input, parts);
  });
}

test('in parts and as a whole: whatever the spans say', async () => {
  await fc.assert(
    fc.asyncProperty(anySpansOfRequests, fc.integer({ min: 1, max: 5 }), (spans, parts) =>
      assertSame(inputOf(tableOf(spans)), parts),
    ),
    { numRuns: 80 },
  );
});

test('in parts and as a whole: a time range, a change, clocks as they are', async () => {
  const input = hotRowInput();
  const { first, last } = startsOf(input);
  const fromUnixNano = first + (last - first) / 4n;
  const lock = analyze(input).models.find((model) => model.kind === 'lock');
  assert.ok(lock);
  await assertSame(input, 5, { fromUnixNano, whatIf: [`${lock.name} hold x0.5`], keepClocks: true });
});

test('several threads and one: links and rules included', async () => {
  const run = simulate(briefly(blueprint(41, { family: FAMILIES[0] }).scenario), {
    record: true,
    stopAtEnd: false,
  });
  const rules = loadRules('- { name: "*query*", segment: downstream, resource: db }');
  for (const input of [hotRowInput(), toInput(run, FULL_EXPORT)]) {
    const whole = jsonReport(buildReport(analyze(input, { rules })));
    const limited = spilled(input, 5);
    assert.ok(limited.spilled);
    for (const threads of [2, 3]) {
      const answer = await analyzeInParts(limited, limited.spilled, { rules }, { threads });
      assert.equal(jsonReport(buildReport(answer)), whole);
    }
    limited.spilled.close();
    const table = inSharedMemory(input.table);
    const parts = memoryParts(table, table.length / 9);
    assert.ok(parts.share());
    const answer = await analyzeInParts({ ...input, table }, parts, { rules }, { threads: 2 });
    assert.equal(jsonReport(buildReport(answer)), whole);
  }
});

test('progress counts the parts', async () => {
  const said: string[] = [];
  await inParts(hotRowInput(), 3, {}, ({ part, parts }) => said.push(`${part}/${parts}`));
  assert.deepEqual(said.slice(-3), ['0/3', '1/3', '2/3']);
});

/** The scenario under three short steps: below, near and beyond what it can serve. */
function briefly(scenario: Scenario): Scenario {
  const most = Math.min(...demands(scenario).map((queue) => queue.saturatesAtPerSecond));
  const steps = [0.4, 0.85, 1.15].map((share) => ({
    arrivalsPerSecond: share * most,
    durationNs: Math.round((120 / (share * most)) * 1e9),
    phase: 'ramp' as const,
  }));
  return { ...scenario, load: { ...scenario.load, steps } };
}

function startsOf({ table }: Input): { first: bigint; last: bigint } {
  const starts = Array.from({ length: table.length }, (_, row) => startUnixNano(table, row)).sort((a, b) =>
    a < b ? -1 : 1,
  );
  return { first: starts[0], last: starts[starts.length - 1] };
}
