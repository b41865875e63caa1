/**
 * Measures the verdict on simulated services whose truth is known, against naive baselines.
 * Rules and thresholds are tuned on seeds below 1000; what is reported comes from seeds of 5000 and up.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Analysis, analyze } from '../../analyzer/src/infer/analysis.ts';
import { toInput } from '../sim/export/index.ts';
import { blueprint, FAMILIES, type Family, planLoad, SHAPES, type Shape } from '../sim/generate.ts';
import { simulate } from '../sim/simulate.ts';
import { compareLedgers } from './verdict/ledgers.ts';
import { type Score, score } from './verdict/score.ts';
import { accuracyTables, failures, goals } from './verdict/tables.ts';
import { truthOf } from './verdict/truth-cache.ts';
import { VARIANTS, type Variant } from './verdict/variants.ts';

const HELP = `bench:verdict [options]
  --seed N        first seed (default 5000; below 1000 is for tuning)
  --count N       services (default 208)
  --seeds A,B     these services instead
  --family NAME   only ${FAMILIES.join(' | ')}
  --shape NAME    only ${SHAPES.join(' | ')}
  --variants A,B  of ${VARIANTS.map((v) => v.name).join(', ')} (default: all; all but full on every --stride th service)
  --stride N      default 7
  --only SEED     one service, all variants, with the tables of the answer
  --whatif        also measure and ask what-if changes on every --stride th service (default on; --no-whatif: off)
  --json FILE     all scores as JSON
  --quiet         no list of failures`;

const { values: flags } = parseArgs({
  allowNegative: true,
  options: {
    seed: { type: 'string', default: '5000' },
    count: { type: 'string', default: '208' },
    seeds: { type: 'string' },
    family: { type: 'string' },
    shape: { type: 'string' },
    variants: { type: 'string' },
    stride: { type: 'string', default: '7' },
    only: { type: 'string' },
    whatif: { type: 'boolean', default: true },
    json: { type: 'string' },
    quiet: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** Requests of each run that measures a sustained rate. */
const TRUTH_REQUESTS = 3000;

function pickVariants(): readonly Variant[] {
  if (flags.variants === undefined) return VARIANTS;
  return flags.variants.split(',').map((name) => {
    const variant = VARIANTS.find((v) => v.name === name);
    if (!variant)
      throw new Error(`no variant "${name}"; there are ${VARIANTS.map((v) => v.name).join(', ')}`);
    return variant;
  });
}

function measure(seed: number, variants: readonly Variant[], whatIf: boolean): Score[] {
  const wanted = { family: flags.family as Family | undefined, shape: flags.shape as Shape | undefined };
  const print = blueprint(seed, wanted);
  const truth = truthOf(print, { requests: TRUTH_REQUESTS, planned: 2500, whatIf });
  return variants.map((variant) => {
    const scenario = planLoad(print, truth.kneePerSecond, variant.requests, variant.coverage);
    const saturates = truth.saturates && variant.coverage === undefined;
    const run = simulate(scenario, { record: true, stopAtEnd: false });
    const input = toInput(run, variant.options(seed));
    const asked = variant.name === 'full' ? truth.whatIf.map(({ change }) => change) : [];
    let analysis: Analysis | null = null;
    let crash: string | null = null;
    const start = performance.now();
    try {
      analysis = analyze(input, { whatIf: asked });
    } catch (error) {
      crash =
        error instanceof Error
          ? (error.stack ?? error.message).split('\n').slice(0, 2).join(' ')
          : String(error);
    }
    const analyzeMs = performance.now() - start;
    const ledgers = analysis
      ? compareLedgers(run, analysis, variant.options(seed))
      : { compared: 0, differing: 0 };
    if (flags.only !== undefined && analysis) explain(variant.name, analysis);
    const { family, shape } = print;
    const answerable = variant.name === 'full' ? truth : { ...truth, whatIf: [] };
    return score(
      {
        seed,
        family,
        shape,
        variant: variant.name,
        saturates,
        truth: answerable,
        scenario,
        analyzeMs,
        spans: input.table.length,
        ...ledgers,
      },
      analysis,
      crash,
    );
  });
}

function explain(variant: string, analysis: Analysis): void {
  const { verdict, windows, resources } = analysis;
  const round = (x: number | null, digits = 2): string => (x === null ? '?' : x.toFixed(digits));
  console.log(
    `\n== ${variant}: ${verdict.status} ${verdict.first?.resource ?? ''} @${round(verdict.kneePerSecond, 0)}/s`,
  );
  console.log(`windows /s: ${windows.map((w) => round(w.receivedPerSecond, 0)).join(' ')}`);
  for (const row of resources) {
    console.log(
      `${row.resource.padEnd(26)} cap ${row.capacity ?? '?'} R ${round(row.saturatesAtPerSecond, 0)} V ${round(row.visitsPerRequest)} ` +
        `D ${round(row.ownDemandNs === null ? null : row.ownDemandNs / 1e6)}ms util ${row.windows.map((w) => round(w.utilization)).join(' ')} ` +
        `wait ms ${row.windows.map((w) => round(w.meanWaitNs === null ? null : w.meanWaitNs / 1e6, 1)).join(' ')}`,
    );
  }
}

function seedsOf(): number[] {
  if (flags.only !== undefined) return [Number(flags.only)];
  if (flags.seeds !== undefined) return flags.seeds.split(',').map(Number);
  return Array.from({ length: Number(flags.count) }, (_, i) => Number(flags.seed) + i);
}

function main(): void {
  if (flags.help) {
    console.log(HELP);
    return;
  }
  const started = performance.now();
  const variants = pickVariants();
  const stride = Number(flags.stride);
  const seeds = seedsOf();
  const scores: Score[] = [];
  for (const [i, seed] of seeds.entries()) {
    const often = flags.variants !== undefined || flags.only !== undefined || i % stride === 0;
    const chosen = variants.filter((v) => often || v.name === 'full');
    scores.push(...measure(seed, chosen, flags.whatif && (flags.only !== undefined || i % stride === 0)));
    if (process.stderr.isTTY || (i + 1) % 20 === 0) {
      const seconds = (performance.now() - started) / 1000;
      process.stderr.write(
        `${process.stderr.isTTY ? '\r' : ''}${i + 1}/${seeds.length} services, ${scores.length} answers, ${seconds.toFixed(0)} s${process.stderr.isTTY ? ' ' : '\n'}`,
      );
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\n');
  if (!flags.quiet) console.log(`${failures(scores)}\n`);
  console.log(accuracyTables(scores));
  if (flags.only === undefined) console.log(`\n${goals(scores)}`);
  if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify(scores, null, 1)}\n`);
}

main();
