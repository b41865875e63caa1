import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { queueCalled } from '../aggregate/queue-model.ts';
import type { Analysis, AnalyzeOptions, Answer } from '../infer/analysis.ts';
import { parseChange } from '../infer/what-if.ts';
import type { Input } from '../model/input.ts';
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
  const { analyze } = await import('../infer/analysis.ts');
  return loadBy(inputs, flags, attributes, threadsOf(flags), (input, options) => analyze(input, options));
}

/** As {@link load}, within a memory limit: spans that do not fit go to a file, and only what a report shows is kept. */
export async function loadWithin(
  memoryBytes: number,
  inputs: readonly string[],
  flags: CommonFlags,
): Promise<Answer> {
  const [{ analyzeInParts }, { memoryParts }] = await Promise.all([
    import('../infer/analysis-in-parts.ts'),
    import('../model/memory-parts.ts'),
  ]);
  const asked = {
    ...(memoryBytes < MEMORY_OF_THREADS ? { threads: 1 } : {}),
    ...threadsOf(flags),
  };
  const threads = asked.threads ?? usualThreads();
  const limits = { memoryBytes, shared: threads > 1, ...asked };
  return loadBy<Answer>(inputs, flags, 'needed', limits, async (input, options, line) => {
    const parts = input.spilled ?? memoryParts(input.table);
    try {
      return await analyzeInParts(input, parts, options, {
        onPart: (progress) => line.passing(progress),
        threads: parts.rows < ROWS_FOR_THREADS ? 1 : threads,
      });
    } finally {
      parts.close();
    }
  });
}

/** With fewer spans a thread costs more than it gains: each compiles the analysis for itself. */
const ROWS_FOR_THREADS = 2_000_000;

/** Each reading thread has a heap of its own: with less memory than this, one reads. */
const MEMORY_OF_THREADS = 512 * 2 ** 20;

/** Threads where nobody says how many. */
function usualThreads(): number {
  return Math.min(availableParallelism(), 4);
}

async function loadBy<A extends Answer>(
  inputs: readonly string[],
  flags: CommonFlags,
  attributes: 'needed' | 'all',
  limits: { readonly memoryBytes?: number; readonly threads?: number; readonly shared?: boolean },
  analysed: (input: Input, options: AnalyzeOptions, line: ReadingLine) => A | Promise<A>,
): Promise<A> {
  const options = { ...analyzeOptions(flags), ...(await rulesOf(flags)), ...(await planOf(flags)) };
  const paths = inputs.length > 0 ? inputs : pipedInput();
  checkPaths(paths);
  const [{ readInputs }, { attributesRead }, { AllAttributesNeeded }, { NoRoomForSpans }] = await Promise.all(
    [
      import('../read/index.ts'),
      import('../infer/attributes-read.ts'),
      import('../tree/copy-text.ts'),
      import('../model/spilled-table.ts'),
    ],
  );
  const progress = new Progress();
  const answerOf = async (keep: ReadonlySet<string> | null): Promise<A> => {
    const line = new ReadingLine((text) => progress.say(text));
    const input = await readInputs(paths, {
      ...(keep === null ? {} : { keep }),
      ...limits,
      onProgress: (read) => line.update(read),
    });
    if (!input.spilled) line.analysing(input.table.length);
    return await analysed(input, options, line);
  };
  try {
    // Standard input cannot be read again.
    const isSparing = attributes === 'needed' && !paths.includes('-');
    const answer = await answerOf(isSparing ? attributesRead(options.rules, flags.by) : null).catch(
      (error: unknown) => {
        if (error instanceof AllAttributesNeeded) return answerOf(null);
        if (error instanceof NoRoomForSpans) throw errors.noRoom(error.message);
        throw error;
      },
    );
    requireSelection(answer, options);
    requireQueues(answer, options);
    return answer;
  } finally {
    progress.clear();
  }
}

/** Refuses a time range without a request, naming the times the input has. */
function requireSelection({ tally, requests }: Answer, { fromUnixNano, toUnixNano }: AnalyzeOptions): void {
  const { firstUnixNano, lastUnixNano } = tally;
  if (requests.count > 0 || firstUnixNano === null || lastUnixNano === null) return;
  if (fromUnixNano === undefined && toUnixNano === undefined) return;
  const text = (unixNano: bigint) => new Date(Number(unixNano / 1_000_000n)).toISOString();
  throw errors.nothingSelected(text(firstUnixNano), text(lastUnixNano));
}

/** Refuses a change to a queue that the input does not have: a typing error must not read as "no effect". */
function requireQueues({ tally, models }: Answer, { whatIf = [] }: AnalyzeOptions): void {
  if (tally.trees === 0) return;
  const queues = models.map((model) => model.label);
  for (const text of whatIf) {
    const { resource } = parseChange(text);
    if (queueCalled(resource, models) === undefined) {
      throw errors.noQueue('--what-if', resource, queues, suggestName(resource, queues));
    }
  }
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
