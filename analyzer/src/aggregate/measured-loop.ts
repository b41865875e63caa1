import { ATTR_EVENTLOOP_UTILIZATION } from '@waitfall/instrumentation/conventions';
import type { Metric } from '../model/input.ts';
import { attributeById, attributeKey } from '../model/span-table.ts';
import type { Forest } from '../tree/types.ts';
import { addClipped, type Span, windowAt } from './intervals.ts';
import type { Requests } from './requests-types.ts';
import type { Series } from './series.ts';
import type { Timeline } from './windows.ts';

/** Gauge of the official runtime instrumentation, 0..1. */
const GAUGE = 'nodejs.eventloop.utilization';

/**
 * Event-loop utilisation by window as the processes measured it themselves: it contains what no request accounts for.
 * From the runtime's gauge where every window has a point of it; else from the root attribute, which says how busy the
 * loop was while that request was open: at every instant the mean over the open requests, 0 while none is open.
 */
export function measureLoops(
  series: readonly Series[],
  forest: Forest,
  requests: Requests,
  metrics: readonly Metric[],
  timeline: Timeline,
): void {
  if (timeline.sampling.kind !== 'none') return;
  for (const own of series) {
    if (own.queue.kind !== 'eventloop') continue;
    own.measured = fromGauge(own, metrics, requests, timeline) ?? fromRoots(own, forest, requests, timeline);
  }
}

function fromGauge(
  own: Series,
  metrics: readonly Metric[],
  requests: Requests,
  timeline: Timeline,
): Float64Array | null {
  const sums = new Float64Array(timeline.windows.length);
  const counts = new Float64Array(timeline.windows.length);
  for (const metric of metrics) {
    if (metric.name !== GAUGE || metric.resource.get('service.name') !== own.queue.service) continue;
    for (const point of metric.points) {
      if (point.kind !== 'number' || point.value === null) continue;
      const w = windowAt(timeline.windows, Number(point.timeUnixNano - requests.originUnixNano));
      if (w < 0) continue;
      sums[w] += Number(point.value);
      counts[w]++;
    }
  }
  if (counts.length === 0 || counts.some((count) => count === 0)) return null;
  return sums.map((sum, w) => sum / counts[w]);
}

interface Open extends Span {
  readonly utilization: number;
}

function fromRoots(own: Series, forest: Forest, requests: Requests, timeline: Timeline): Float64Array | null {
  const { table } = forest;
  const key = attributeKey(table, ATTR_EVENTLOOP_UTILIZATION);
  if (key < 0) return null;
  const byInstance: Open[][] = own.queue.instances.map(() => []);
  for (let i = 0; i < requests.count; i++) {
    const tree = forest.trees[requests.tree[i]];
    for (let o = tree.first; o < tree.first + tree.count; o++) {
      const row = forest.order[o];
      const { service, instance } = table.resources[table.resource[row]];
      if (service !== own.queue.service) continue;
      const value = Number(attributeById(table, row, key) ?? Number.NaN);
      if (Number.isNaN(value)) continue;
      const at = own.queue.instances.indexOf(instance);
      if (at < 0) continue;
      byInstance[at].push({
        startNs: requests.startNs[i] + forest.start[row],
        endNs: requests.startNs[i] + forest.end[row],
        utilization: Math.min(1, Math.max(0, value)),
      });
    }
  }
  if (byInstance.every((list) => list.length === 0)) return null;
  const busyNs = new Float64Array(timeline.windows.length);
  for (const open of byInstance) addMean(open, timeline, busyNs);
  return busyNs.map((ns, w) => {
    const { startNs, endNs } = timeline.windows[w];
    return ns / ((endNs - startNs) * byInstance.length);
  });
}

/** Adds the time integral of the mean utilisation of the open requests. */
function addMean(open: readonly Open[], timeline: Timeline, busyNs: Float64Array): void {
  const events = open
    .flatMap((one) => [
      { timeNs: one.startNs, step: 1, utilization: one.utilization },
      { timeNs: one.endNs, step: -1, utilization: one.utilization },
    ])
    .sort((a, b) => a.timeNs - b.timeNs);
  let n = 0;
  let sum = 0;
  let last = 0;
  for (const { timeNs, step, utilization } of events) {
    if (n > 0 && timeNs > last)
      addClipped(timeline.windows, last, timeNs, Math.min(1, Math.max(0, sum / n)), busyNs);
    n += step;
    sum += step * utilization;
    last = timeNs;
  }
}
