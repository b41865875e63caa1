import { existsSync } from 'node:fs';
import type { Analysis, AnalyzeOptions } from '../infer/analysis.ts';
import { parseChange } from '../infer/what-if.ts';
import { startUnixNano } from '../model/span-table.ts';
import { errors } from './errors.ts';
import { analyzeOptions, type CommonFlags, rulesOf, threadsOf } from './options.ts';
import { Progress } from './output.ts';
import { planOf } from './plan.ts';
import { ReadingLine } from './read-progress.ts';
import { suggest, suggestName } from './suggest.ts';

export const COMMANDS = [
  'report',
  'trace',
  'compare',
  'size',
  'check',
  'doctor',
  'init',
  'completion',
  'help',
] as const;

/**
 * Reads and analyses the inputs of a command; `-` stands for standard input, which is also read when it is piped.
 *
 * @param attributes `needed`: those the analysis reads, which saves most of the memory; `all` for what shows spans.
 */
export async function load(
  inputs: readonly string[],
  flags: CommonFlags,
  attributes: 'needed' | 'all' = 'needed',
): Promise<Analysis> {
  const threads = threadsOf(flags);
  const options = { ...analyzeOptions(flags), ...(await rulesOf(flags)), ...(await planOf(flags)) };
  const paths = inputs.length > 0 ? inputs : pipedInput();
  checkPaths(paths);
  const [{ readInputs }, { analyze }, { attributesRead }, { AllAttributesNeeded }] = await Promise.all([
    import('../read/index.ts'),
    import('../infer/analysis.ts'),
    import('../infer/attributes-read.ts'),
    import('../tree/copy-text.ts'),
  ]);
  const progress = new Progress();
  const analysisOf = async (keep: ReadonlySet<string> | null): Promise<Analysis> => {
    const line = new ReadingLine((text) => progress.say(text));
    const input = await readInputs(paths, {
      ...threads,
      ...(keep === null ? {} : { keep }),
      onProgress: (read) => line.update(read),
    });
    line.analysing(input.table.length);
    return analyze(input, options);
  };
  try {
    // Standard input cannot be read again.
    const isSparing = attributes === 'needed' && !paths.includes('-');
    const analysis = await analysisOf(isSparing ? attributesRead(options.rules, flags.by) : null).catch(
      (error: unknown) => {
        if (error instanceof AllAttributesNeeded) return analysisOf(null);
        throw error;
      },
    );
    requireSelection(analysis, options);
    requireQueues(analysis, options);
    return analysis;
  } finally {
    progress.clear();
  }
}

/** Refuses a time range without a request, naming the times the input has. */
function requireSelection(
  { forest, requests }: Analysis,
  { fromUnixNano, toUnixNano }: AnalyzeOptions,
): void {
  if (requests.count > 0 || forest.trees.length === 0) return;
  if (fromUnixNano === undefined && toUnixNano === undefined) return;
  const starts = forest.trees.map((tree) => startUnixNano(forest.table, tree.root));
  const text = (unixNano: bigint) => new Date(Number(unixNano / 1_000_000n)).toISOString();
  const [first, last] = [starts.reduce(earlier), starts.reduce((a, b) => (earlier(a, b) === a ? b : a))];
  throw errors.nothingSelected(text(first), text(last));
}

/** Refuses a change to a queue that the input does not have: a typing error must not read as "no effect". */
function requireQueues({ forest, models }: Analysis, { whatIf = [] }: AnalyzeOptions): void {
  if (forest.trees.length === 0) return;
  const queues = models.map((model) => model.name);
  for (const text of whatIf) {
    const { resource } = parseChange(text);
    if (!queues.includes(resource)) {
      throw errors.noQueue('--what-if', resource, queues, suggestName(resource, queues));
    }
  }
}

function earlier(a: bigint, b: bigint): bigint {
  return b < a ? b : a;
}

/** Refuses paths that do not exist before anything is read; a mistyped command gets a hint. */
export function checkPaths(paths: readonly string[]): void {
  for (const path of paths) {
    if (path === '-' || existsSync(path) || /[*?[{]/.test(path)) continue;
    throw errors.notFound(path, paths.length <= 2 ? suggest(path, COMMANDS) : null);
  }
}

function pipedInput(): readonly string[] {
  if (process.stdin.isTTY === true) throw errors.noInput();
  return ['-'];
}
