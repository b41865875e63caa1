import {
  ATTR_EVENTLOOP_UTILIZATION,
  type Segment,
  timeAttribute,
} from '@waitfall/instrumentation/conventions';
import type { AttributeValue } from '../../../analyzer/src/model/attributes.ts';
import type { Run } from '../run.ts';
import type { SimSpan, SpanRole } from '../spans.ts';

/** Segment a role stands for; roles without one are calls, wrappers and roots. */
export const SEGMENT_OF: Partial<Record<SpanRole, Segment>> = {
  work: 'work',
  loop: 'eventloop_wait',
  pause: 'runtime_pause',
  admission: 'admission_wait',
  pool: 'pool_wait',
  connect: 'connection_wait',
  lock: 'lock_wait',
};

/** When the event loop of one process was busy: disjoint, in order of time. */
interface BusyTimes {
  readonly starts: number[];
  readonly ends: number[];
  /** Busy time before each interval. */
  readonly before: number[];
}

/**
 * @returns what the instrumentation writes on the root of each trace: this process's sums of every segment, those of
 * intervals too short for a span included, and the utilisation of the event loop while the request was open.
 */
export function rootAttributes(run: Run): (trace: number) => [string, AttributeValue][] {
  const sums = run.requests.map(() => new Map<Segment, number>());
  for (const span of run.spans) {
    const segment = SEGMENT_OF[span.role];
    if (segment === undefined || span.trace < 0) continue;
    const sum = sums[span.trace];
    sum.set(segment, (sum.get(segment) ?? 0) + span.endNs - span.startNs);
  }
  const busy = run.scenario.replicas.map((_, replica) => busyTimes(run.spans, replica));
  return (trace) => {
    const { arrivalNs, endNs, replica } = run.requests[trace];
    const times = [...sums[trace]]
      .filter(([, ns]) => ns > 0)
      .map(([segment, ns]): [string, AttributeValue] => [timeAttribute(segment), ns]);
    if (endNs > arrivalNs) {
      const share =
        (busyBefore(busy[replica], endNs) - busyBefore(busy[replica], arrivalNs)) / (endNs - arrivalNs);
      times.push([ATTR_EVENTLOOP_UTILIZATION, Math.round(share * 1e4) / 1e4]);
    }
    return times;
  };
}

function busyTimes(spans: readonly SimSpan[], replica: number): BusyTimes {
  const list = spans
    .filter((span) => span.replica === replica && (span.role === 'work' || span.role === 'pause'))
    .sort((a, b) => a.startNs - b.startNs);
  const before: number[] = [];
  let sum = 0;
  for (const { startNs, endNs } of list) {
    before.push(sum);
    sum += endNs - startNs;
  }
  return { starts: list.map((span) => span.startNs), ends: list.map((span) => span.endNs), before };
}

/** @returns how long the loop was busy up to a time. */
function busyBefore({ starts, ends, before }: BusyTimes, time: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= time) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return 0;
  const last = low - 1;
  return before[last] + Math.min(time, ends[last]) - starts[last];
}
