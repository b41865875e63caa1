import type { Report } from '../../../analyzer/src/index.ts';
import type { LoadFile } from '../../../sample-app/src/load/load-file.ts';
import { shown } from '../../../sample-app/src/run/command.ts';
import type { Measured } from './capacity.ts';
import type { Configuration } from './configurations.ts';

/** Share of the time of work and pauses that the segment of a configuration must own. */
const LEAST_SHARE = 1 / 3;
/** The knee is the rate at which requests succeeded at most, within this; a queue without places turns away some it could serve. */
const KNEE = { low: 0.7, high: 1.4 } as const;

/** What a run was built to show, and what the verdict said. */
export interface Judged {
  readonly name: string;
  readonly forced: string;
  /** The verdict: queue and rate, or its status. */
  readonly named: string;
  /** null: the machine did not let it be judged. */
  readonly right: boolean | null;
  readonly chain: string;
  /** Arrivals a second, by step. */
  readonly offered: string;
  readonly confidence: string;
  readonly directory: string;
}

/**
 * Compares a verdict with what was forced, and its knee with what the load generator saw. Nothing is named right by
 * accident: kind, resource and rate must all fit.
 */
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
  const served = Math.max(...load.steps.map((step) => step.goodputPerSecond));
  const ratio = first === null ? null : (kneePerSecond ?? Number.NaN) / served;
  const owned = segment === undefined ? null : shareOf(report, segment);
  return {
    name,
    forced,
    named:
      (first === null
        ? status
        : `${first.kind} ${first.resource} at ${kneePerSecond?.toFixed(0) ?? '?'}/s, ${served.toFixed(0)}/s served`) +
      (owned === null ? '' : `, ${segment} ${(100 * owned).toFixed(0)} %`),
    right:
      fits &&
      (owned === null || owned >= LEAST_SHARE) &&
      (ratio === null || (ratio >= KNEE.low && ratio <= KNEE.high)),
    chain: verdict.chain.map(({ resource }) => resource).join(' -> '),
    offered: load.steps.map((step) => step.arrivalsPerSecond.toFixed(0)).join(' '),
    confidence: verdict.confidence.level,
    directory: shown(directory),
  };
}

/** Half of the requests of the last step take this many times what they took in the first: it is overloaded. */
const OVERLOADED = 3;
/** Of the limit that is forced a service reaches this share, where the machine does not stop it earlier. */
const REACHED = 0.6;
/** At the lowest rate half of the requests wait for little. */
const DISTURBED = 5;
/** Where requests are turned away instead. */
const LOST = 0.05;

/**
 * Whether the load did what it was to, as the load generator saw it: overload what is narrow, and nothing where nothing
 * is. Where the machine changed its speed meanwhile it may not have.
 *
 * @returns why not; null where it did.
 */
export function didNotApply(
  { expected, limitPerSecond }: Configuration,
  { steps }: LoadFile,
  { aloneMs, perSecond }: Measured,
): string | null {
  const mostPerSecond = Math.max(perSecond, ...steps.map((step) => step.goodputPerSecond));
  if (limitPerSecond !== undefined && mostPerSecond < REACHED * limitPerSecond) {
    return `the service did ${mostPerSecond.toFixed(0)}/s at most where ${limitPerSecond}/s were to be the limit: the machine is narrower`;
  }
  const [first] = steps;
  const last = steps[steps.length - 1];
  const slower =
    (last.latencyFromPlannedNs.p50 ?? Number.POSITIVE_INFINITY) /
    (first.latencyFromPlannedNs.p50 ?? Number.NaN);
  const atRestMs = (first.latencyFromPlannedNs.p50 ?? Number.POSITIVE_INFINITY) / 1e6;
  if (atRestMs > DISTURBED * aloneMs) {
    return `the first step took ${atRestMs.toFixed(0)} ms, a request alone ${aloneMs.toFixed(0)} ms: others were using the machine`;
  }
  const overloaded = slower >= OVERLOADED || last.rejected >= LOST * last.planned;
  if (overloaded === (expected !== null)) return null;
  const what = `the median of the last step is ${slower.toFixed(1)} times that of the first`;
  return expected === null ? `${what} although nothing is narrow` : `${what}, so nothing was overloaded`;
}

/** Of what the service did at most before the load began it does this share under it, where the machine stays as it is. */
const SAME_MACHINE = 0.7;

/**
 * What may have made a verdict wrong that has nothing to do with it. Where the verdict is right all the same nobody asks.
 *
 * @returns what disturbed the run; null where nothing is known to have.
 */
export function disturbance({ steps }: LoadFile, { perSecond }: Measured): string | null {
  const disturbed = steps.filter((step) => step.disturbed);
  if (disturbed.length > 0) {
    const most = Math.max(...disturbed.map((step) => step.cpu['others'] ?? 0));
    return `other programs used up to ${(100 * most).toFixed(0)} % of a core in ${disturbed.length} of ${steps.length} steps`;
  }
  const served = Math.max(...steps.map((step) => step.goodputPerSecond));
  if (served < SAME_MACHINE * perSecond)
    return `the service did ${perSecond.toFixed(0)}/s before the load and ${served.toFixed(0)}/s under it: the machine became slower`;
  return null;
}

/** A run that says nothing: the machine did not let the load do what it was to. */
export function notApplied({ name, forced }: Configuration, reason: string, directory: string): Judged {
  const named = `not judged: ${reason}`;
  return {
    name,
    forced,
    named,
    right: null,
    chain: '',
    offered: '',
    confidence: '',
    directory: shown(directory),
  };
}

/** A run that could not be made. */
export function notJudged({ name, forced }: Configuration, error: Error): Judged {
  const named = `failed: ${error.message}`;
  return { name, forced, named, right: false, chain: '', offered: '', confidence: '', directory: '' };
}

/** @returns the share of the time of work and pauses that a segment owns. */
function shareOf({ requests }: Report, segment: string): number {
  const sum = (wanted: readonly string[]) =>
    requests.segments
      .filter((one) => wanted.includes(one.segment))
      .reduce((ns, one) => ns + Number(one.totalNs), 0);
  return sum([segment]) / sum(['work', 'runtime_pause']);
}

/** @returns right, WRONG, or that neither can be said. */
export function wordFor({ right }: Judged): string {
  return right === null ? '-' : right ? 'right' : 'WRONG';
}

/** @returns the table of all runs, as Markdown. */
export function tableOf(judged: readonly Judged[]): string[] {
  const header = ['configuration', 'forced', 'verdict', '', 'chain', 'offered/s, by step', 'confidence'];
  const rows = judged.map((one) => [
    one.name,
    one.forced,
    one.named,
    wordFor(one),
    one.chain,
    one.offered,
    one.confidence,
  ]);
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(3, ...all.map((row) => row[column].length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}
