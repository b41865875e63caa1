import type { Metric } from '../model/input.ts';
import type { Resource } from '../model/span.ts';
import { addClipped, type Span, windowAt } from './intervals.ts';
import type { OpenList, ProcessRecords, StatedWorkList } from './process-records.ts';
import type { Requests } from './requests-types.ts';
import type { Series, StatedWork } from './series.ts';
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
  processes: ProcessRecords,
  resources: readonly Resource[],
  requests: Requests,
  metrics: readonly Metric[],
  timeline: Timeline,
): void {
  for (const own of series) {
    if (own.queue.kind !== 'eventloop') continue;
    own.statedWork = statedWork(own, processes.work, resources, requests, timeline);
    // Of a sample, the gaps between its requests say nothing about the loop.
    if (timeline.sampling.kind !== 'none') continue;
    const byInstance = fromRoots(own, processes.open, resources, timeline);
    own.measuredInstances = byInstance;
    own.measured =
      fromGauge(own, metrics, requests, timeline) ?? (byInstance && meanOf(byInstance, own.presence));
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

/** Fewer requests that state their work leave it to the slices. */
const STATING = 0.9;

/** Sums of work that the entry spans of a service state; null where too few of them do. */
function statedWork(
  own: Series,
  { request, resource, ns: statedNs, length }: StatedWorkList,
  resources: readonly Resource[],
  requests: Requests,
  timeline: Timeline,
): StatedWork | null {
  const W = timeline.windows.length;
  const work: StatedWork = {
    ns: new Float64Array(W),
    goodNs: new Float64Array(W),
    good: new Float64Array(W),
  };
  const success = requests.outcomes.indexOf('success');
  let inside = 0;
  let stating = 0;
  /** The records stand in order of the requests. */
  let next = 0;
  for (let i = 0; i < requests.count; i++) {
    const w = requests.window[i];
    if (w < 0) continue;
    let ns: number | null = null;
    while (next < length && request[next] < i) next++;
    for (; next < length && request[next] === i; next++) {
      if (resources[resource[next]].service === own.queue.service) ns = (ns ?? 0) + statedNs[next];
    }
    const good = requests.outcome[i] === success;
    // A rejected request may have done nothing worth stating.
    if (good) inside++;
    if (ns === null) continue;
    const weight = requests.weight[i];
    work.ns[w] += ns * weight;
    if (!good) continue;
    stating++;
    work.goodNs[w] += ns * weight;
    work.good[w] += weight;
  }
  return inside > 0 && stating >= STATING * inside ? work : null;
}

interface Open extends Span {
  readonly utilization: number;
}

function fromRoots(
  own: Series,
  records: OpenList,
  resources: readonly Resource[],
  timeline: Timeline,
): Float64Array[] | null {
  const byInstance: Open[][] = own.queue.instances.map(() => []);
  for (let i = 0; i < records.length; i++) {
    const { service, instance } = resources[records.resource[i]];
    if (service !== own.queue.service) continue;
    const at = own.queue.instances.indexOf(instance);
    if (at >= 0) byInstance[at].push(records.at(i));
  }
  if (byInstance.every((list) => list.length === 0)) return null;
  return byInstance.map((open) => {
    const busyNs = new Float64Array(timeline.windows.length);
    addMean(open, timeline, busyNs);
    return busyNs.map((ns, w) => ns / (timeline.windows[w].endNs - timeline.windows[w].startNs));
  });
}

/** Of the processes that were there. */
function meanOf(instances: readonly Float64Array[], presence: Series['presence']): Float64Array {
  return instances[0].map((_, w) => {
    const there = presence === null ? instances.length : presence.reduce((sum, one) => sum + one[w], 0);
    return instances.reduce((sum, one) => sum + one[w], 0) / there;
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
