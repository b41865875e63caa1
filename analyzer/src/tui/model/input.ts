import type { InputSection } from '../../report/types.ts';
import { count, percent } from '../../report/units.ts';
import type { Session } from '../session.ts';

/** @returns `1 span`, `61,204 spans`. */
export function counted(n: number, what: string): string {
  return `${count(n)} ${what}${n === 1 ? '' : 's'}`;
}

/** @returns what was found in the files, and what of it is not used. */
export function readText({ spanRecords, spans, traces, requests, metrics, skipped }: InputSection): string {
  return [
    [
      counted(spanRecords, 'span record'),
      counted(spans, 'span'),
      counted(traces, 'trace'),
      counted(requests, 'request'),
    ].join(', '),
    `${counted(metrics.metrics, 'metric')} with ${counted(metrics.dataPoints, 'point')}`,
    `skipped ${counted(skipped.logs, 'log')}, ${counted(skipped.profiles, 'profile')}`,
  ].join(' · ');
}

/** Below this coverage the reader is told what to switch on. */
const LOW_COVERAGE = 0.8;

/** @returns what to enable to account for more of the time. */
export function coverageAdvice(session: Session): string[] {
  const { requests, resources } = session.report;
  if (requests.coverage === null || requests.coverage >= LOW_COVERAGE) return [];
  const has = (kind: string): boolean =>
    resources.some(
      (row) =>
        row.kind === kind &&
        row.windows.some(({ utilization, meanWaitNs }) => (utilization ?? 0) > 0 || (meanWaitNs ?? 0) > 0),
    );
  const out: string[] = [];
  if (!has('eventloop'))
    out.push('no event-loop slices: @waitfall/instrumentation records work and event-loop waits');
  if (!has('pool')) out.push('no pool waits: @waitfall/instrumentation records them where pg is used');
  if (!has('admission')) out.push('no admission queue: put admission() in front of the routes to see it');
  return out;
}

/** @returns the reasons why percentiles here can differ from those of another tool, with the facts of this input. */
export function reconcile(session: Session): string[] {
  const { requests, input } = session.report;
  const failed = requests.count - requests.byOutcome.success;
  const roots = input.requests === 0 ? 'trees without a true root' : 'only trees with a true root';
  const generator =
    session.traces.services.length > 1 &&
    requests.segments.some(({ segment }) => segment === 'generator_wait');
  return [
    generator
      ? 'roots here are spans of the load generator, from the planned arrival on: its own waiting and the network are part of the latency'
      : 'latency is the root span of the server, from its first to its last nanosecond; a load generator also counts connecting and its own waiting',
    `percentiles here are of all requests (${count(requests.count)}), ${percent(requests.count === 0 ? 0 : failed / requests.count)} of them failed; "good" ones count successes only`,
    'fast failures pull percentiles of all requests down, slow time-outs pull them up: compare outcomes first',
    'sampled traces count as often as their tracestate says; a tool that ignores it counts each once',
    'nearest rank on exact values: the value is one that a request really had; other tools interpolate or read histogram buckets',
    `${roots} count (${count(requests.count)}); ${count(input.orphanRoots + input.cycles)} orphans and cycles ${input.requests === 0 ? 'stand in for them' : 'are listed but not counted'}`,
    'each instant of a trace belongs to one span: parts add up to the whole, where sums of span durations count nested time twice',
  ];
}
