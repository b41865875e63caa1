import type { WindowRow } from '../../aggregate/types.ts';
import type { Report } from '../../report/types.ts';
import { rate } from '../../report/units.ts';

/** Rates that differ by less are the same load. */
const SAME_RATE = 0.05;

/** One line of the summary: a fact of both runs. */
export interface ComparedFact {
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

/** @returns knee, first queue and chain of both runs, and where the bottleneck is now. */
export function comparedFacts(before: Report, after: Report): ComparedFact[] {
  const both = (what: string, of: (report: Report) => string): ComparedFact => ({
    what,
    before: of(before),
    after: of(after),
  });
  return [
    both('knee', ({ verdict }) =>
      verdict.kneePerSecond === null ? noKnee(verdict.status) : rate(verdict.kneePerSecond),
    ),
    both('fills first', ({ verdict }) => verdict.first?.resource ?? 'none'),
    both('what fills what', ({ verdict }) => verdict.chain.map((link) => link.resource).join(' → ') || '–'),
    both('next limit', ({ verdict }) =>
      verdict.next === null
        ? 'unknown'
        : `${verdict.next.resource} ${rate(verdict.next.saturatesAtPerSecond)}`,
    ),
  ];
}

function noKnee(status: Report['verdict']['status']): string {
  return status === 'not-saturated' ? 'not reached' : status.replaceAll('-', ' ');
}

/** Windows of both runs that stand side by side. */
export interface ComparedStep {
  readonly ratePerSecond: number;
  readonly before: WindowRow;
  readonly after: WindowRow;
}

/** @returns the steps both runs have at the same planned (else received) rate, slowest first; recovery is left out. */
export function commonSteps(before: Report, after: Report): ComparedStep[] {
  const offered = (window: WindowRow): number => window.plannedPerSecond ?? window.receivedPerSecond;
  const steps = (report: Report): WindowRow[] => {
    const byRate = new Map<number, WindowRow>();
    for (const window of report.windows)
      if (window.phase !== 'recovery' && window.phase !== 'warmup') byRate.set(offered(window), window);
    return [...byRate.values()].sort((a, b) => offered(a) - offered(b));
  };
  const other = steps(after);
  return steps(before).flatMap((window) => {
    const x = offered(window);
    const match = other.find((candidate) => Math.abs(offered(candidate) - x) <= SAME_RATE * x);
    return match ? [{ ratePerSecond: x, before: window, after: match }] : [];
  });
}
