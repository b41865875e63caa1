import { isRoute } from '../../aggregate/requests.ts';
import type { Analysis, Answer } from '../../infer/analysis.ts';
import type { Report } from '../../report/types.ts';
import { EXIT, errors } from '../errors.ts';
import { load, loadWithin } from '../load.ts';
import { memoryBytes } from '../memory.ts';
import { analyzeOptions, buildOptions, type CommonFlags, textStyle } from '../options.ts';
import { write } from '../output.ts';
import { suggestName } from '../suggest.ts';

export const FORMATS = ['text', 'json', 'markdown', 'requests'] as const;

export interface ReportFlags extends CommonFlags {
  readonly format: (typeof FORMATS)[number];
  readonly memory?: string;
}

/** `waitfall report`: the whole answer as text, JSON, Markdown, or one line a request. @returns the exit code. */
export async function reportCommand(inputs: readonly string[], flags: ReportFlags): Promise<number> {
  const limit = memoryBytes(flags.memory);
  // Requests one by one, and what tells them apart, are read from the trees themselves.
  const needsTrees = flags.format === 'requests' || flags.by !== undefined;
  if (needsTrees) return reportTrees(inputs, flags);
  const answer = await loadWithin(limit, inputs, flags);
  const { buildReport } = await import('../../report/build.ts');
  if (flags.route !== undefined) requireRoute(answer, flags.route);
  await printReport(buildReport(answer, buildOptions(flags)), flags);
  return exitCode(answer, flags);
}

async function reportTrees(inputs: readonly string[], flags: ReportFlags): Promise<number> {
  const analysis = await load(inputs, flags);
  if (flags.route !== undefined) requireRoute(analysis, flags.route);
  if (flags.format === 'requests') {
    const { requestLines } = await import('../../report/requests.ts');
    const { fromUnixNano, toUnixNano } = analyzeOptions(flags);
    await write(requestLines(analysis, { route: flags.route, fromUnixNano, toUnixNano }), flags.output);
    return exitCode(analysis, flags);
  }
  if (flags.by !== undefined) requireAttribute(analysis, flags.by);
  const { buildReport } = await import('../../report/build.ts');
  await printReport(buildReport(analysis, buildOptions(flags)), flags);
  return exitCode(analysis, flags);
}

/** Prints a report in the format that was asked for. */
export async function printReport(report: Report, flags: ReportFlags): Promise<void> {
  await write([await render(report, flags)], flags.output);
}

async function render(report: Report, flags: ReportFlags): Promise<string> {
  if (flags.format === 'json') return (await import('../../report/json.ts')).jsonReport(report);
  const { markdownReport, textReport } = await import('../../report/render.ts');
  return flags.format === 'markdown' ? markdownReport(report) : textReport(report, textStyle(flags));
}

/** @returns the exit code of a command that answered from this input. */
export function exitCode({ tally, input }: Answer, { strict }: CommonFlags): number {
  if (tally.trees === 0) return EXIT.noTrace;
  return strict && input.rejected.length > 0 ? EXIT.partial : EXIT.answered;
}

/** Refuses a route that no request has, naming those there are. */
export function requireRoute({ requests }: Answer, wanted: string): void {
  if (!requests.routes.some((route) => isRoute(route, wanted))) {
    const paths = requests.routes.map((route) => route.slice(route.indexOf(' ') + 1));
    throw errors.noRoute(wanted, requests.routes, suggestName(wanted, [...requests.routes, ...paths]));
  }
}

/** Refuses an attribute that neither a span nor a process has: "not set" everywhere would read like an answer. */
function requireAttribute({ forest }: Analysis, wanted: string): void {
  const { table, trees } = forest;
  if (trees.length === 0) return;
  const keys = new Set(table.resources.flatMap((resource) => [...resource.attributes.keys()]));
  for (const key of table.attributeShapes.key) keys.add(table.strings.text(key));
  if (keys.has(wanted)) return;
  const names = [...keys].sort();
  throw errors.noAttribute(wanted, names, suggestName(wanted, names));
}
