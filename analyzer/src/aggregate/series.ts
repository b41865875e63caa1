import { OUTCOMES } from '@waitfall/instrumentation/conventions';
import { ACQUIRED, type Activity, type Hold, type Queue, type Wait } from './activity.ts';
import { addClipped, windowAt } from './intervals.ts';
import { presences } from './presence.ts';
import type { Requests } from './requests-types.ts';
import { SingleWaits } from './single-waits.ts';
import { unionOf } from './slice-list.ts';
import type { Timeline } from './windows.ts';

/**
 * What happened at one queue, by window, weighted. Counts and sums belong to the window in which the request started;
 * `busyNs`, `queuedNs` and `completions` to the time in which they happened.
 */
export interface Lane {
  readonly holds: Float64Array;
  readonly holdNs: Float64Array;
  /** Time integral of busy servers. */
  readonly busyNs: Float64Array;
  /** Holds that ended in the window. */
  readonly completions: Float64Array;
  /** Time inside its holds spent waiting on another queue, by that queue's index (rule 4). Signed for servers. */
  readonly nestedNs: Map<number, Float64Array>;
  /** Time inside its holds in which another queue's server worked for it. */
  readonly serviceNs: Map<number, Float64Array>;
  /** Time in which a hold of this and one of another queue were held together by one request. */
  readonly togetherNs: Map<number, Float64Array>;
}

/** By window of the request's start, weighted. */
export interface StatedWork {
  readonly ns: Float64Array;
  readonly goodNs: Float64Array;
  readonly good: Float64Array;
}

export interface Series extends Lane {
  readonly queue: Queue;
  /** Acquired + rejected + timed out + aborted. */
  readonly arrivals: Float64Array;
  /** Arrivals that waited longer than {@link WAITED_NS}. */
  readonly waited: Float64Array;
  /** Sum of waits; for servers without holds the signed excess over the cost at low load (rule 3). */
  readonly waitNs: Float64Array;
  /** Wait spans (arrivals that did not wait may have none). */
  readonly waits: Float64Array;
  readonly queuedNs: Float64Array;
  readonly rejected: Float64Array;
  readonly timedOut: Float64Array;
  readonly aborted: Float64Array;
  readonly oldestNs: Float64Array;
  /** Single waits, for percentiles; arrivals beyond them waited 0. */
  readonly singleWaits: SingleWaits[];
  readonly pauseNs: Float64Array;
  readonly instances: readonly Lane[];
  /** By instance and window: share of the window in which the process was there; null: all were, all the time. */
  readonly presence: readonly Float64Array[] | null;
  /** Row locks: the busiest keys, hottest first. */
  readonly keys: readonly { readonly key: string; readonly lane: Lane }[];
  /** Holds that stated a key / all holds; null without holds. */
  readonly keyedShare: number | null;
  /** Servers without holds: mean cost of a call at low load; null for queues with holds. */
  baseNs: number | null;
  /** Measured utilisation by window where a gauge gave it (event loop). */
  measured: Float64Array | null;
  /** The same by instance, where the processes can be told apart. */
  measuredInstances: readonly Float64Array[] | null;
  /** Work of requests by window as their roots state it (event loop), slices too short for a span included. */
  statedWork: StatedWork | null;
  /** What its holds consist of: name to weighted ns. */
  readonly contents: Map<string, { ns: number; movable: boolean }>;
}

/** A shorter wait is the hand-over itself, not queueing; also the precision of most clocks behind span times. */
export const WAITED_NS = 100_000;
/** Keys of one lock that are looked at one by one; the others cannot be the first to saturate. */
const KEYS = 12;

export function emptyLane(windows: number): Lane {
  return {
    holds: new Float64Array(windows),
    holdNs: new Float64Array(windows),
    busyNs: new Float64Array(windows),
    completions: new Float64Array(windows),
    nestedNs: new Map(),
    serviceNs: new Map(),
    togetherNs: new Map(),
  };
}

/** Rule 2: sums of waits, holds, work and pauses of every queue over the windows. Servers without holds come later (rule 3). */
export function sumSeries(activity: Activity, requests: Requests, timeline: Timeline): Series[] {
  const W = timeline.windows.length;
  const hot = hottestKeys(activity, requests);
  const presence = presences(activity, requests, timeline);
  const series = activity.queues.map((queue): Series => {
    const keys = hot.get(queue.index);
    return {
      ...emptyLane(W),
      queue,
      arrivals: new Float64Array(W),
      waited: new Float64Array(W),
      waitNs: new Float64Array(W),
      waits: new Float64Array(W),
      queuedNs: new Float64Array(W),
      rejected: new Float64Array(W),
      timedOut: new Float64Array(W),
      aborted: new Float64Array(W),
      oldestNs: new Float64Array(W),
      singleWaits: Array.from({ length: W }, () => new SingleWaits()),
      pauseNs: new Float64Array(W),
      instances: queue.instances.map(() => emptyLane(W)),
      presence: presence[queue.index],
      keys: keys ? keys.names.map((key) => ({ key, lane: emptyLane(W) })) : [],
      keyedShare: keys ? keys.share : null,
      baseNs: null,
      measured: null,
      measuredInstances: null,
      statedWork: null,
      contents: new Map(),
    };
  });
  const { waits, holds } = activity;
  for (let i = 0; i < waits.length; i++) addWait(series[waits.queue[i]], waits.at(i), requests, timeline);
  for (let i = 0; i < holds.length; i++) {
    const hold = holds.at(i);
    const own = series[hold.queue];
    const weight = requests.weight[hold.request];
    for (const lane of lanesOf(own, hold)) addHold(lane, hold, weight, requests, timeline);
    const w = requests.window[hold.request];
    if (w >= 0) own.arrivals[w] += weight;
  }
  for (const own of series) settleArrivals(own);
  addEventLoop(activity, series, requests, timeline);
  return series;
}

/** The lanes a hold belongs to: the whole queue, its instance, its key. */
export function lanesOf(own: Series, hold: Hold): Lane[] {
  const lanes: Lane[] = [own, own.instances[hold.instance]];
  if (hold.key !== null) {
    const found = own.keys.find(({ key }) => key === hold.key);
    if (found) lanes.push(found.lane);
  }
  return lanes;
}

function addWait(own: Series, wait: Wait, requests: Requests, timeline: Timeline): void {
  const weight = requests.weight[wait.request];
  const waitNs = wait.endNs - wait.startNs;
  addClipped(timeline.windows, wait.startNs, wait.endNs, weight, own.queuedNs);
  const end = windowAt(timeline.windows, wait.endNs);
  if (end >= 0) own.oldestNs[end] = Math.max(own.oldestNs[end], waitNs);
  const w = requests.window[wait.request];
  if (w < 0) return;
  own.waits[w] += weight;
  own.waitNs[w] += waitNs * weight;
  own.singleWaits[w].push(waitNs, weight);
  if (waitNs > WAITED_NS) own.waited[w] += weight;
  if (wait.outcome === ACQUIRED) return;
  own.arrivals[w] += weight;
  const outcome = OUTCOMES[wait.outcome];
  if (outcome === 'rejected') own.rejected[w] += weight;
  else if (outcome === 'timeout') own.timedOut[w] += weight;
  else own.aborted[w] += weight;
}

/** A queue whose holds nobody states: its arrivals are its wait spans. */
function settleArrivals(own: Series): void {
  for (let w = 0; w < own.arrivals.length; w++) own.arrivals[w] = Math.max(own.arrivals[w], own.waits[w]);
}

export function addHold(
  lane: Lane,
  hold: Hold,
  weight: number,
  requests: Requests,
  timeline: Timeline,
): void {
  addClipped(timeline.windows, hold.startNs, hold.endNs, weight, lane.busyNs);
  const end = windowAt(timeline.windows, hold.endNs);
  if (end >= 0) lane.completions[end] += weight;
  const w = requests.window[hold.request];
  if (w < 0) return;
  lane.holds[w] += weight;
  lane.holdNs[w] += (hold.endNs - hold.startNs) * weight;
}

/**
 * The event loop has no holds: it serves one `work` slice at a time. Busy = union of slices and pauses of a process
 * where everything was exported, else the weighted sum of slices plus the union of pauses.
 */
function addEventLoop(activity: Activity, series: Series[], requests: Requests, timeline: Timeline): void {
  const { windows, sampling } = timeline;
  for (let i = 0; i < activity.work.length; i++) {
    const slice = activity.work.at(i);
    const own = series[slice.queue];
    const weight = requests.weight[slice.request];
    const ns = slice.endNs - slice.startNs;
    const end = windowAt(windows, slice.endNs);
    const w = requests.window[slice.request];
    for (const lane of [own, own.instances[slice.instance]]) {
      if (end >= 0) lane.completions[end] += weight;
      if (w >= 0) {
        lane.holds[w] += weight;
        lane.holdNs[w] += ns * weight;
      }
      if (sampling.kind !== 'none') addClipped(windows, slice.startNs, slice.endNs, weight, lane.busyNs);
    }
  }
  for (const own of series) {
    if (own.queue.kind !== 'eventloop') continue;
    for (const [instance, lane] of own.instances.entries()) {
      const pauses = unionOf([activity.pauses], own.queue.index, instance);
      const busy =
        sampling.kind === 'none'
          ? unionOf([activity.work, activity.pauses], own.queue.index, instance)
          : pauses;
      for (const { startNs, endNs } of busy) {
        addClipped(windows, startNs, endNs, 1, lane.busyNs);
        addClipped(windows, startNs, endNs, 1, own.busyNs);
      }
      for (const { startNs, endNs } of pauses) addClipped(windows, startNs, endNs, 1, own.pauseNs);
    }
    for (let w = 0; w < windows.length; w++) own.arrivals[w] = Math.max(own.arrivals[w], own.holds[w]);
  }
}

function hottestKeys(
  activity: Activity,
  requests: Requests,
): Map<number, { names: string[]; share: number }> {
  const heldNs = new Map<number, Map<string, number>>();
  const counts = new Map<number, { all: number; keyed: number }>();
  const { holds } = activity;
  for (let i = 0; i < holds.length; i++) {
    if (activity.queues[holds.queue[i]].kind !== 'lock') continue;
    const hold = holds.at(i);
    const count = counts.get(hold.queue) ?? { all: 0, keyed: 0 };
    counts.set(hold.queue, count);
    count.all++;
    if (hold.key === null) continue;
    count.keyed++;
    let byKey = heldNs.get(hold.queue);
    if (!byKey) {
      byKey = new Map();
      heldNs.set(hold.queue, byKey);
    }
    const ns = (hold.endNs - hold.startNs) * requests.weight[hold.request];
    byKey.set(hold.key, (byKey.get(hold.key) ?? 0) + ns);
  }
  const out = new Map<number, { names: string[]; share: number }>();
  for (const [queue, { all, keyed }] of counts) {
    const byKey = heldNs.get(queue) ?? new Map<string, number>();
    const names = [...byKey]
      .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
      .slice(0, KEYS)
      .map(([key]) => key);
    out.set(queue, { names, share: keyed / all });
  }
  return out;
}
