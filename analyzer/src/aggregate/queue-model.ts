import type { ResourceKind } from '../classify/types.ts';
import type { Queue } from './activity.ts';
import type { HiddenCapacity } from './hidden-servers.ts';
import type { Lane, Series } from './series.ts';
import type { Timeline } from './windows.ts';

/** One queue with everything the verdict rests on. Rates per second, times in ns; null = unknown. */
export interface QueueModel {
  readonly queue: Queue;
  readonly name: string;
  /** For people: with the service where queues of several services have the name. */
  readonly label: string;
  readonly kind: ResourceKind;
  readonly series: Series;
  /** What utilisation and demand are taken from: the busiest row of a lock, else the whole queue. */
  readonly lane: Lane;
  readonly busiestKey: string | null;
  readonly capacity: number | null;
  readonly capacityFrom: 'stated' | 'inferred' | 'unknown';
  /** Processes that have it each, at the highest rate; 1 where they share it. */
  readonly processes: number;
  /** Servers by window where processes came or went; null: the capacity in all. */
  readonly serversByWindow: readonly number[] | null;
  /** Holds (calls, slices) per request in the windows used for demand. */
  readonly visits: number;
  /** Own demand D = visits × (hold − waits nested in it), ns per request. */
  readonly demandNs: number;
  readonly meanHoldNs: number;
  /** Own demand by window below the knee, ns per request: what flatness is judged on. */
  readonly demandByWindow: readonly {
    readonly window: number;
    readonly demandNs: number;
    readonly visits: number;
  }[];
  /** Whether own demand stays within 15 % below the knee; null with fewer than two such windows. */
  readonly demandFlat: boolean | null;
  /** Own demand in the highest windows below the knee / in the lowest; null likewise. */
  readonly demandRatio: number | null;
  readonly visitsRatio: number | null;
  /** R = capacity / D: the rate at which it saturates alone. */
  readonly saturatesAt: number | null;
  /** Bounds of R where it is known only between two; null elsewhere. */
  readonly saturatesBetween: { readonly low: number; readonly high: number } | null;
  /** How R was found, for people. */
  readonly how: string;
  /** By window. */
  readonly utilization: readonly (number | null)[];
  readonly meanWaitNs: readonly number[];
  /** Failed acquisitions (rejected, timed out) / arrivals, by window. */
  readonly lossShare: readonly number[];
  /** Mean wait of the top windows minus that of the low ones; for losses in the same way. */
  readonly topWaitNs: number;
  readonly lowWaitNs: number;
  /** Mean hold in the low and in the top windows; null without holds there or with a single window. */
  readonly lowHoldNs: number | null;
  readonly topHoldNs: number | null;
  readonly topLoss: number;
  readonly lowLoss: number;
  readonly hottest: { readonly instance: string; readonly ratio: number; readonly alone: boolean } | null;
  /** Time per request in which this queue's holds were served by another queue (index), ns. */
  readonly serviceNs: ReadonlyMap<number, number>;
  readonly hidden: HiddenCapacity | null;
  /** Hidden servers: mean excess at the top / slope = calls waiting there; whether the fit is trusted. */
  readonly queueRatio: number;
  readonly inflation: number;
}

/** Windows by their part in the estimates; all ascending by rate. */
export interface Frame {
  readonly timeline: Timeline;
  readonly rising: readonly number[];
  readonly lows: readonly number[];
  /** Windows from which demand is taken (rule 5). */
  readonly pre: readonly number[];
  readonly topRate: number;
}

/** How many of the last rising windows are the top. */
const TOPS = 3;
/** Of few windows the second lowest is low only up to this share of the top rate: it may be the overload itself. */
const SECOND_LOW = 0.62;

/** Rule 3: the windows of low load: the two lowest, and those up to 0.42 of the top rate. */
export function lowWindows(timeline: Timeline): number[] {
  const { windows, rising, top } = timeline;
  const topRate = top < 0 ? 0 : windows[top].arrivalsPerSecond;
  return rising.filter((w, i) => {
    const share = windows[w].arrivalsPerSecond / topRate;
    if (i === 1 && i >= rising.length - TOPS) return share <= SECOND_LOW;
    return i < 2 || share <= 0.42;
  });
}

/** Whether a queue had about the servers in a window that its capacity says: more processes may have been there before. */
export function hasItsServers(
  { servers, byWindow }: { readonly servers: number | null; readonly byWindow: readonly number[] | null },
  w: number,
): boolean {
  return byWindow === null || servers === null || Math.abs(byWindow[w] / servers - 1) < SAME_SERVERS;
}

const SAME_SERVERS = 0.1;

/** The last rising windows, but not the lowest: what the top looks like. */
export function topWindows(rising: readonly number[]): readonly number[] {
  return rising.slice(-Math.max(1, Math.min(TOPS, rising.length - 1)));
}

/** Mean of a sum per arrival over a set of windows; 0 without arrivals. */
export function perArrival(series: Series, sums: Float64Array, w: number): number {
  const n = Math.max(series.arrivals[w], series.waits[w]);
  return n > 0 ? sums[w] / n : 0;
}

export interface Demand {
  readonly demandNs: number;
  readonly visits: number;
  readonly meanHoldNs: number;
}

/** Rule 5: own demand and visits of a lane per request, over some windows. */
export function demandOver(
  lane: Lane,
  pauseNs: Float64Array | null,
  windows: readonly number[],
  requests: (w: number) => number,
): Demand {
  let n = 0;
  let visits = 0;
  let holdNs = 0;
  let nestedNs = 0;
  for (const w of windows) {
    n += requests(w);
    visits += lane.holds[w];
    holdNs += lane.holdNs[w];
    for (const sums of lane.nestedNs.values()) nestedNs += sums[w];
    if (pauseNs) holdNs += pauseNs[w];
  }
  if (n === 0) return { demandNs: 0, visits: 0, meanHoldNs: 0 };
  return {
    demandNs: Math.max(0, holdNs - nestedNs) / n,
    visits: visits / n,
    meanHoldNs: visits > 0 ? holdNs / visits : 0,
  };
}

/** @returns the queue of a name or a label; of several of one name the one nearest to saturation. */
export function queueCalled(called: string, models: readonly QueueModel[]): QueueModel | undefined {
  return models.find(({ label }) => label === called) ?? models.find(({ name }) => name === called);
}
