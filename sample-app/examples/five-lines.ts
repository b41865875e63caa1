import type { Example } from './examples.ts';

/** The part of the analyzer's JSON report that five lines are made of. */
export interface ExampleReport {
  readonly requests: {
    readonly count: number;
    readonly latencyNs: { readonly mean: number | null };
    readonly segments: readonly {
      readonly segment: string;
      readonly resource: string | null;
      readonly meanNs: number;
      readonly share: number;
    }[];
  };
}

const WAIT = /_wait$|^runtime_pause$/;

/** @returns the parts of the time, largest first, ports left out: they differ in every run. */
export function partsOf({
  requests,
}: ExampleReport): { what: string; isWait: boolean; share: number; meanNs: number }[] {
  return requests.segments
    .map(({ segment, resource, share, meanNs }) => ({
      what: `${segment} ${resource ?? ''}`.trim().replace(/:\d{4,5}$/, ':PORT'),
      isWait: WAIT.test(segment),
      share,
      meanNs,
    }))
    .sort((a, b) => b.share - a.share);
}

/** @returns what an example shows, in five lines. */
export function fiveLines(example: Example, says: string, report: ExampleReport): string[] {
  const parts = partsOf(report);
  // The one example that is not about a queue of the process shows the largest part elsewhere.
  const [wait] = parts.filter((part) =>
    example.name === 'downstream' ? part.what.startsWith('downstream') : part.isWait,
  );
  const others = parts.filter((part) => part !== wait).slice(0, 2);
  const ms = (ns: number | null) => `${((ns ?? 0) / 1e6).toFixed(1)} ms`;
  const line = (label: string, part: (typeof parts)[number] | undefined) =>
    part === undefined
      ? `${label} -`
      : `${label} ${part.what}, ${ms(part.meanNs)} of it, ${(100 * part.share).toFixed(0)} %`;
  return [
    `${example.name}: ${says}`,
    `${report.requests.count} requests, ${ms(report.requests.latencyNs.mean)} on average`,
    line('most:', wait),
    line('then:', others[0]),
    line('then:', others[1]),
  ];
}
