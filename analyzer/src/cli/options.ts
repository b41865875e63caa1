import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { AnalyzeOptions } from '../infer/analysis.ts';
import { type Objective, parseObjective } from '../infer/objective.ts';
import { parseChange } from '../infer/what-if.ts';
import { parseDuration, parseTime } from '../model/duration.ts';
import type { BuildOptions } from '../report/build.ts';
import type { TextStyle } from '../report/text.ts';
import { errors } from './errors.ts';

/** Options every command that reads an input has, as commander hands them over. */
export interface CommonFlags {
  readonly load?: string;
  readonly rules?: string;
  readonly by?: string;
  readonly route?: string;
  readonly from?: string;
  readonly to?: string;
  readonly whatIf?: readonly string[];
  readonly objective?: string;
  readonly tolerance?: string;
  readonly keepClocks?: boolean;
  readonly strict?: boolean;
  readonly threads?: string;
  readonly color: boolean;
  readonly ascii?: boolean;
  readonly output?: string;
}

/** Adds the options every command that reads an input has. */
export function addCommonOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--load <file>',
        'load plan of the run, or k6 results (default: load.json of a run directory)',
      ),
    )
    .addOption(new Option('--rules <file>', 'YAML: which spans of other instrumentations are waits'))
    .addOption(new Option('--by <attribute>', 'split the requests by a span or resource attribute'))
    .addOption(new Option('--route <route>', 'only requests of a route: "POST /signup" or /signup'))
    .addOption(new Option('--from <time>', 'only requests that start at or after an ISO or epoch time'))
    .addOption(new Option('--to <time>', 'only requests that start before an ISO or epoch time'))
    .addOption(
      new Option(
        '--what-if <change>',
        'predict a change, e.g. "lock:campaign hold x0.25" (repeatable)',
      ).argParser((value: string, previous: readonly string[] | undefined) => [...(previous ?? []), value]),
    )
    .addOption(new Option('--objective <limits>', 'what must hold, e.g. "p99<200ms,errors<0.1%"'))
    .addOption(new Option('--tolerance <duration>', 'overrun of a parent that is clamped').default('1ms'))
    .addOption(new Option('--keep-clocks', 'do not correct clock skew between processes'))
    .addOption(new Option('--strict', 'exit with 4 when part of the input could not be read'))
    .addOption(
      new Option('--threads <n>', 'threads for inputs over 300 MB (default: one per processor, 4 at most)'),
    )
    .addOption(new Option('--no-color', 'no colours, also on a terminal'))
    .addOption(new Option('--ascii', 'only ASCII characters'))
    .addOption(new Option('-o, --output <file>', 'write to a file instead of standard output'));
}

/** Turns flags into what the analysis takes; every value is checked here, before anything is read. */
export function analyzeOptions(flags: CommonFlags): AnalyzeOptions {
  const from = flags.from === undefined ? undefined : time('--from', flags.from);
  const to = flags.to === undefined ? undefined : time('--to', flags.to);
  return {
    toleranceNs: flags.tolerance === undefined ? undefined : duration('--tolerance', flags.tolerance),
    keepClocks: flags.keepClocks ?? false,
    whatIf: (flags.whatIf ?? []).map(change),
    ...(flags.objective === undefined ? {} : { objective: objective(flags.objective) }),
    ...(from === undefined ? {} : { fromUnixNano: from }),
    ...(to === undefined ? {} : { toUnixNano: to }),
  };
}

/** @returns how many threads there may be, where the user says so. */
export function threadsOf({ threads }: CommonFlags): { readonly threads?: number } {
  if (threads === undefined) return {};
  if (!/^[1-9]\d?$/.test(threads))
    throw errors.badOption('--threads', threads, 'write a number from 1 to 99');
  return { threads: Number(threads) };
}

export function buildOptions({ route, by }: CommonFlags): BuildOptions {
  return { ...(route === undefined ? {} : { route }), ...(by === undefined ? {} : { by }) };
}

/** Colours only on a terminal, and not where NO_COLOR (https://no-color.org) or --no-color says so. */
export function textStyle(flags: CommonFlags): TextStyle {
  const tty = flags.output === undefined && process.stdout.isTTY === true;
  const quiet = process.env['NO_COLOR'] !== undefined && process.env['NO_COLOR'] !== '';
  // Files and pipes are the same whatever the terminal they were made in; a narrow terminal gets what fits.
  const columns = tty
    ? Math.max(LEAST_COLUMNS, Math.min(MOST_COLUMNS, process.stdout.columns || MOST_COLUMNS))
    : MOST_COLUMNS;
  return { columns, ascii: flags.ascii ?? false, color: tty && flags.color && !quiet };
}

/** Wider text is hard to read, narrower tables say nothing. */
const MOST_COLUMNS = 80;
const LEAST_COLUMNS = 40;

function duration(option: string, text: string): number {
  const ns = parseDuration(text);
  if (ns === null) throw errors.badOption(option, text, 'write a duration such as 1ms, 250us or 2s');
  return ns;
}

function time(option: string, text: string): bigint {
  const unixNano = parseTime(text);
  if (unixNano === null) {
    throw errors.badOption(option, text, 'write a time such as 2026-05-01T12:00:00Z, or epoch s, ms or ns');
  }
  return unixNano;
}

function change(text: string): string {
  try {
    parseChange(text);
    return text;
  } catch (error) {
    throw errors.badSyntax('--what-if', (error as Error).message);
  }
}

function objective(text: string): Objective {
  try {
    return parseObjective(text);
  } catch (error) {
    throw errors.badSyntax('--objective', (error as Error).message);
  }
}

/** Reads a rules file; its YAML parser is loaded only here. */
export async function rulesOf({ rules: path }: CommonFlags): Promise<Pick<AnalyzeOptions, 'rules'>> {
  if (path === undefined) return {};
  const { loadRules } = await import('../classify/rules.ts');
  const text = readText(path);
  try {
    return { rules: loadRules(text) };
  } catch (error) {
    throw errors.badFile(path, (error as Error).message);
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw errors.unreadable(path, (error as Error).message);
  }
}
