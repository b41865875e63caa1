import type { Report } from '../../../analyzer/src/index.ts';
import type { LoadFile } from '../../../sample-app/src/load/load-file.ts';
import { shown } from '../../../sample-app/src/run/command.ts';
import type { Configuration } from './configurations.ts';

/** Share of the time of work and pauses that the segment of a configuration must own. */
const LEAST_SHARE = 1 / 3;

/** What a run was built to show, and what the verdict said. */
export interface Judged {
  readonly name: string;
  readonly forced: string;
  /** The verdict: queue and rate, or its status. */
  readonly named: string;
  readonly right: boolean;
  readonly chain: string;
  readonly goodput: string;
  readonly confidence: string;
  readonly directory: string;
}

/** Compares a verdict with what was forced. Nothing is named right by accident: kind and resource must both fit. */
export function judge(
  { name, forced, expected, segment }: Configuration,
  report: Report,
  load: LoadFile,
  directory: string,
): Judged {
  const { verdict } = report;
  const { first, status, kneePerSecond } = verdict;
  const fits =
    expected === null
      ? first === null && status === 'not-saturated'
      : first !== null && first.kind === expected.kind && expected.resource.test(first.resource);
  const owned = segment === undefined ? null : shareOf(report, segment);
  return {
    name,
    forced,
    named:
      (first === null ? status : `${first.kind} ${first.resource} at ${kneePerSecond?.toFixed(0) ?? '?'}/s`) +
      (owned === null ? '' : `, ${segment} ${(100 * owned).toFixed(0)} %`),
    right: fits && (owned === null || owned >= LEAST_SHARE),
    chain: verdict.chain.map(({ resource }) => resource).join(' -> '),
    goodput: load.steps.map((step) => (step.succeeded / secondsOf(step)).toFixed(0)).join(' '),
    confidence: verdict.confidence.level,
    directory: shown(directory),
  };
}

/** A run that could not be made. */
export function notJudged({ name, forced }: Configuration, error: Error): Judged {
  const named = `failed: ${error.message}`;
  return { name, forced, named, right: false, chain: '', goodput: '', confidence: '', directory: '' };
}

function secondsOf({ startUnixNano, endUnixNano }: LoadFile['steps'][number]): number {
  return Number(BigInt(endUnixNano) - BigInt(startUnixNano)) / 1e9;
}

/** @returns the share of the time of work and pauses that a segment owns. */
function shareOf({ requests }: Report, segment: string): number {
  const sum = (wanted: readonly string[]) =>
    requests.segments
      .filter((one) => wanted.includes(one.segment))
      .reduce((ns, one) => ns + Number(one.totalNs), 0);
  return sum([segment]) / sum(['work', 'runtime_pause']);
}

/** @returns the table of all runs, as Markdown. */
export function tableOf(judged: readonly Judged[]): string[] {
  const header = [
    'configuration',
    'forced',
    'verdict',
    '',
    'chain',
    'succeeded of the offered/s, by step',
    'confidence',
  ];
  const rows = judged.map((one) => [
    one.name,
    one.forced,
    one.named,
    one.right ? 'right' : 'WRONG',
    one.chain,
    one.goodput,
    one.confidence,
  ]);
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(3, ...all.map((row) => row[column].length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}
