import { queueLabels } from '../model/queue-labels.ts';
import { mean } from './averages.ts';
import { type Capacity, capacityOf } from './capacity.ts';
import { connectionRate } from './connection-rate.ts';
import { flatness } from './flatness.ts';
import type { HiddenCapacity } from './hidden-servers.ts';
import { hottestInstance } from './hottest-instance.ts';
import { loopRate } from './loop-rate.ts';
import type { Baselines } from './opaque.ts';
import {
  demandOver,
  type Frame,
  lowWindows,
  perArrival,
  type QueueModel,
  topWindows,
} from './queue-model.ts';
import { atLeastServed, ownRate } from './rate.ts';
import type { Lane, Series } from './series.ts';
import { serverRate } from './server-rate.ts';
import type { Timeline } from './windows.ts';

/** Demand is taken from windows up to this share of the top rate, then again up to PRE_KNEE × the lowest R. */
const PRE_TOP = 0.62;
const PRE_KNEE = 0.85;

/** Rule 5: demand, capacity and saturation rate of every queue, ascending by rate (unknown ones last). */
export function buildModels(
  series: readonly Series[],
  timeline: Timeline,
  baselines: Baselines,
): { models: QueueModel[]; frame: Frame } {
  const { windows, rising, top } = timeline;
  const topRate = top < 0 ? 0 : windows[top].arrivalsPerSecond;
  const lows = lowWindows(timeline);
  let pre = rising.filter((w) => windows[w].arrivalsPerSecond <= PRE_TOP * topRate);
  if (pre.length < 2) pre = rising.slice(0, 2);
  const frame = (): Frame => ({ timeline, rising, lows, pre, topRate });
  const labels = queueLabels(series.map(({ queue }) => queue));
  const build = () =>
    series
      .map((own, i) => ({ ...modelOf(own, frame(), baselines), label: labels[i] }))
      .sort(
        (a, b) => (a.saturatesAt ?? Number.POSITIVE_INFINITY) - (b.saturatesAt ?? Number.POSITIVE_INFINITY),
      );
  let models = build();
  const lowest = models[0]?.saturatesAt ?? null;
  if (lowest !== null) {
    const wider = rising.filter((w) => windows[w].arrivalsPerSecond <= PRE_KNEE * lowest);
    if (wider.length >= 2) {
      pre = wider;
      models = build();
    }
  }
  return { models, frame: frame() };
}

/**
 * Share of a queue's arrivals that it served. Demand is what every request would take: those a queue turned away count
 * as the others, else its capacity would seem to grow with its losses. A request served at a further try was not lost.
 */
function servedShare({ holds, rejected, timedOut }: Series, w: number, requests: number): number {
  const lost = Math.min(rejected[w] + timedOut[w], Math.max(0, requests - holds[w]));
  return lost > 0 && holds[w] > 0 ? holds[w] / (holds[w] + lost) : 1;
}

function modelOf(own: Series, frame: Frame, baselines: Baselines): Omit<QueueModel, 'label'> {
  const { timeline, rising, lows, pre } = frame;
  const { windows } = timeline;
  const { queue } = own;
  const hotKey = own.keys[0] ?? null;
  const lane: Lane = hotKey?.lane ?? own;
  const capacity = capacityOf(queue, lane, hotKey !== null, timeline, own.instances, own.presence);
  const requests = (w: number) => windows[w].requests * servedShare(own, w, windows[w].requests);
  const pauses = queue.kind === 'eventloop' ? own.pauseNs : null;
  const demand = demandOver(lane, pauses, pre, requests);
  const meanWaitNs = windows.map((_, w) => perArrival(own, own.waitNs, w));
  const lossShare = windows.map((_, w) => {
    const n = Math.max(own.arrivals[w], own.waits[w]);
    return n > 0 ? (own.rejected[w] + own.timedOut[w]) / n : 0;
  });
  const tops = topWindows(rising);
  const hottest = hottestInstance(own, capacity, pre);
  const utilization = utilizationOf(own, lane, capacity, hottest, timeline);
  const serviceNs = new Map<number, number>();
  const n = pre.reduce((sum, w) => sum + requests(w), 0);
  for (const [other, sums] of lane.serviceNs) {
    serviceNs.set(other, n > 0 ? pre.reduce((sum, w) => sum + sums[w], 0) / n : 0);
  }
  const holdOver = (set: readonly number[]) => {
    let holds = 0;
    let ns = 0;
    for (const w of set) {
      holds += own.holds[w];
      ns += own.holdNs[w];
    }
    return holds > 0 && rising.length > 1 ? ns / holds : null;
  };
  const base = {
    ...flatness(lane, pauses, pre, requests),
    lowHoldNs: holdOver(lows),
    topHoldNs: holdOver(tops),
    queue,
    name: queue.name,
    kind: queue.kind,
    series: own,
    lane,
    busiestKey: hotKey?.key ?? null,
    capacity: capacity.servers,
    capacityFrom: capacity.from,
    processes: processesAt(own, timeline),
    serversByWindow: capacity.byWindow,
    visits: demand.visits,
    demandNs: demand.demandNs,
    meanHoldNs: demand.meanHoldNs,
    utilization,
    meanWaitNs,
    lossShare,
    topWaitNs: Math.max(0, ...tops.map((w) => meanWaitNs[w])),
    lowWaitNs: mean(lows.map((w) => meanWaitNs[w])),
    topLoss: Math.max(0, ...tops.map((w) => lossShare[w])),
    lowLoss: mean(lows.map((w) => lossShare[w])),
    hottest,
    serviceNs,
    hidden: null as HiddenCapacity | null,
    saturatesBetween: null,
    queueRatio: 0,
    inflation: 0,
  };
  const loop = queue.kind === 'eventloop' ? loopRate(own, base, frame) : null;
  if (loop) return { ...base, ...loop };
  if (queue.kind === 'downstream')
    return { ...base, ...serverRate(own, demand, frame, baselines, meanWaitNs) };
  if (queue.kind === 'connection')
    return { ...base, ...connectionRate(own, demand, frame, capacity, baselines, meanWaitNs) };
  return {
    ...base,
    ...atLeastServed(ownRate(demand, capacity, hottest), lane, demand, frame, hottest, capacity),
  };
}

function processesAt({ queue, presence }: Series, { top }: Timeline): number {
  if (queue.scope === 'shared') return 1;
  const there =
    presence === null || top < 0 ? queue.instances.length : presence.reduce((n, one) => n + one[top], 0);
  return Math.max(1, Math.round(there));
}

/**
 * Busy servers / servers by window: of the hottest instance where one is hotter than chance explains, since that one is
 * full first; measured by the process itself where it was (event loop).
 */
function utilizationOf(
  own: Series,
  lane: Lane,
  capacity: Capacity,
  hottest: QueueModel['hottest'],
  { windows }: Timeline,
): (number | null)[] {
  const hot = hottest?.alone ? own.queue.instances.indexOf(hottest.instance) : -1;
  const measured = (hot >= 0 ? own.measuredInstances?.[hot] : null) ?? own.measured;
  if (measured) return [...measured];
  const servers = hot >= 0 ? capacity.byInstance[hot] : capacity.servers;
  // Waits alone say nothing about how busy it is: holds of autocommit statements, for one, cannot be seen.
  const held = own.queue.kind === 'eventloop' || own.holds.some((n) => n > 0);
  if (servers === null || !held) return windows.map(() => null);
  const { busyNs } = hot >= 0 ? own.instances[hot] : lane;
  const whole = own.queue.kind === 'eventloop' ? shortSlices(own) : 1;
  return windows.map(({ startNs, endNs }, w) => {
    const there = hot >= 0 ? servers * (own.presence?.[hot][w] ?? 1) : (capacity.byWindow?.[w] ?? servers);
    return there > 0 ? (whole * busyNs[w]) / ((endNs - startNs) * there) : null;
  });
}

/** Work the requests state / work that spans show: slices too short for a span are in the one only. */
function shortSlices({ statedWork, holdNs }: Series): number {
  if (statedWork === null) return 1;
  const stated = statedWork.ns.reduce((a, b) => a + b, 0);
  const shown = holdNs.reduce((a, b) => a + b, 0);
  return shown > 0 ? Math.max(1, stated / shown) : 1;
}
