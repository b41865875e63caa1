import type { Activity, Call, Wait } from './activity.ts';
import { addClipped, windowAt } from './intervals.ts';
import type { Requests } from './requests-types.ts';
import type { Series } from './series.ts';
import type { Timeline } from './windows.ts';

/** What one call (by index into `activity.calls`) or connection wait (into `activity.waits`) costs at low load. */
export interface Baselines {
  readonly callNs: Float64Array;
  /** NaN for waits that are not connection establishment. */
  readonly connectionNs: Float64Array;
  /** By queue: fit of hidden servers, null where none was found or wanted. */
  readonly fits: ReadonlyMap<number, HiddenCapacity>;
  /** Rows of `activity.calls` and of connection waits, for the composition of holds. */
  readonly callOfRow: ReadonlyMap<number, number>;
  readonly waitOfRow: ReadonlyMap<number, number>;
}

/** Servers behind a remote address, inferred from how the excess grows with the calls in flight. */
export interface HiddenCapacity {
  readonly servers: number;
  /** Extra time a call takes for each call ahead of it, ns. */
  readonly slopeNs: number;
  /** Share of the variance of the excess that the fit explains, 0..1. */
  readonly r2: number;
}

/**
 * Rule 3: servers whose queue nobody measured. Cost S of an operation = mean duration of its calls, by operation and
 * route, in the windows of low load; what a call takes beyond is its excess, SIGNED (cutting it at zero would invent
 * waits). Connection establishment likewise: its cost is that of connections opened while no other waited.
 */
export function measureOpaque(
  activity: Activity,
  series: readonly Series[],
  requests: Requests,
  timeline: Timeline,
  lows: readonly number[],
): Baselines {
  const callNs = callBaselines(activity.calls, requests, lows);
  const byQueue = new Map<number, number[]>();
  for (const [i, call] of activity.calls.entries()) {
    const list = byQueue.get(call.queue);
    if (list) list.push(i);
    else byQueue.set(call.queue, [i]);
  }
  const fits = new Map<number, HiddenCapacity>();
  for (const [queue, calls] of byQueue) {
    const own = series[queue];
    addCalls(own, calls, activity.calls, callNs, requests, timeline, lows);
    if (timeline.sampling.kind === 'none') {
      const fit = fitHiddenCapacity(
        calls.map((i) => activity.calls[i]),
        calls.map((i) => activity.calls[i].durationNs - callNs[i]),
        own.baseNs ?? 0,
        (call) => {
          const w = requests.window[call.request];
          return w >= 0 && w <= timeline.top;
        },
      );
      if (fit) fits.set(queue, fit);
    }
  }
  const connectionNs = new Float64Array(activity.waits.length).fill(Number.NaN);
  for (const own of series) {
    if (own.queue.kind === 'connection')
      measureConnections(own, activity.waits, connectionNs, requests, timeline);
  }
  const waitOfRow = new Map<number, number>();
  for (const [i, wait] of activity.waits.entries()) {
    if (!Number.isNaN(connectionNs[i])) waitOfRow.set(wait.row, i);
  }
  return {
    callNs,
    connectionNs,
    fits,
    callOfRow: new Map(activity.calls.map((call, i) => [call.row, i])),
    waitOfRow,
  };
}

/** Mean by (server, operation) over the low windows; an operation not seen there costs what the call took. */
function callBaselines(calls: readonly Call[], requests: Requests, lows: readonly number[]): Float64Array {
  const low = new Set(lows);
  const sums = new Map<string, { ns: number; weight: number }>();
  for (const call of calls) {
    if (call.failed || !low.has(requests.window[call.request])) continue;
    const key = `${call.queue}|${call.operation}`;
    const entry = sums.get(key) ?? { ns: 0, weight: 0 };
    entry.ns += call.durationNs * requests.weight[call.request];
    entry.weight += requests.weight[call.request];
    sums.set(key, entry);
  }
  return Float64Array.from(calls, (call) => {
    const entry = sums.get(`${call.queue}|${call.operation}`);
    return entry ? entry.ns / entry.weight : call.durationNs;
  });
}

function addCalls(
  own: Series,
  members: readonly number[],
  calls: readonly Call[],
  callNs: Float64Array,
  requests: Requests,
  timeline: Timeline,
  lows: readonly number[],
): void {
  let ns = 0;
  let weights = 0;
  for (const i of members) {
    const call = calls[i];
    const weight = requests.weight[call.request];
    addClipped(timeline.windows, call.startNs, call.endNs, weight, own.busyNs);
    const end = windowAt(timeline.windows, call.endNs);
    if (end >= 0 && !call.failed) own.completions[end] += weight;
    const w = requests.window[call.request];
    if (w < 0) continue;
    const excessNs = call.durationNs - callNs[i];
    own.arrivals[w] += weight;
    own.holds[w] += weight;
    own.holdNs[w] += callNs[i] * weight;
    own.waitNs[w] += excessNs * weight;
    own.waits[w] += weight;
    own.singleWaits[w].push(Math.max(0, excessNs));
    if (lows.includes(w) && !call.failed) {
      ns += callNs[i] * weight;
      weights += weight;
    }
  }
  own.baseNs = weights > 0 ? ns / weights : null;
}

/** Fewer connections opened onto an idle gate cannot give its cost; then the fastest of all do. */
const FEWEST_IDLE = 10;
const FASTEST_SHARE = 0.3;

function measureConnections(
  own: Series,
  waits: readonly Wait[],
  connectionNs: Float64Array,
  requests: Requests,
  timeline: Timeline,
): void {
  const mine: number[] = [];
  for (const [i, wait] of waits.entries()) if (wait.queue === own.queue.index) mine.push(i);
  if (mine.length === 0) return;
  const ns = (i: number) => waits[i].endNs - waits[i].startNs;
  const capacity = Math.max(0, ...own.queue.statedCapacity.map((c) => c ?? 0), ...own.queue.queuedInUse);
  const idle = mine.filter(
    (i) => waits[i].depth === 0 && (waits[i].inUse ?? 0) < (capacity || Number.POSITIVE_INFINITY),
  );
  const sorted = [...mine].sort((a, b) => ns(a) - ns(b));
  const chosen =
    idle.length >= FEWEST_IDLE ? idle : sorted.slice(0, Math.floor(sorted.length * FASTEST_SHARE) + 1);
  let sum = 0;
  let weights = 0;
  for (const i of chosen) {
    sum += ns(i) * requests.weight[waits[i].request];
    weights += requests.weight[waits[i].request];
  }
  const base = sum / weights;
  own.baseNs = base;
  const W = timeline.windows.length;
  own.busyNs.fill(0);
  for (let w = 0; w < W; w++) {
    own.holds[w] = own.waits[w];
    own.holdNs[w] = own.waits[w] * base;
    own.waitNs[w] -= own.waits[w] * base;
    own.singleWaits[w] = own.singleWaits[w].map((one) => Math.max(0, one - base));
  }
  for (const i of mine) {
    connectionNs[i] = base;
    const { startNs, request } = waits[i];
    const busyUntil = startNs + Math.min(ns(i), base);
    addClipped(timeline.windows, startNs, busyUntil, requests.weight[request], own.busyNs);
    const end = windowAt(timeline.windows, waits[i].endNs);
    if (end >= 0) own.completions[end] += requests.weight[request];
  }
}

/** Bounds of the slope: n-th in line waits n services / servers, more or less. */
const SLOPE_LOW = 0.5;
const SLOPE_HIGH = 1.3;

/**
 * Hockey stick: mean excess of calls that found n others in flight = slope × max(0, n − servers + 1), servers an
 * integer, by least squares over all calls, slope within [0.5, 1.3] × S / servers.
 */
export function fitHiddenCapacity(
  calls: readonly Call[],
  excessNs: readonly number[],
  baseNs: number,
  counted: (call: Call) => boolean,
): HiddenCapacity | null {
  const bins = excessByInFlight(calls, excessNs, counted);
  let best: (HiddenCapacity & { readonly sse: number; readonly beyond: number }) | null = null;
  for (let servers = 1; servers < bins.length; servers++) {
    let sxx = 0;
    let sxy = 0;
    let syy = 0;
    let beyond = 0;
    for (const [n, bin] of bins.entries()) {
      if (!bin || bin.count === 0) continue;
      const x = Math.max(0, n - servers + 1);
      const y = bin.sumNs / bin.count;
      sxx += bin.count * x * x;
      sxy += bin.count * x * y;
      syy += bin.count * y * y;
      if (x > 0) beyond += bin.count;
    }
    if (beyond < 12 || sxx === 0) continue;
    const ideal = baseNs / servers;
    const slopeNs = Math.min(SLOPE_HIGH * ideal, Math.max(SLOPE_LOW * ideal, sxy / sxx));
    const sse = syy - 2 * slopeNs * sxy + slopeNs * slopeNs * sxx;
    if (best === null || sse < best.sse) {
      best = { servers, slopeNs, sse, beyond, r2: syy > 0 ? 1 - sse / syy : 0 };
    }
  }
  return best !== null && best.beyond >= Math.max(15, 0.004 * calls.length) ? best : null;
}

function excessByInFlight(
  calls: readonly Call[],
  excessNs: readonly number[],
  counted: (call: Call) => boolean,
): ({ count: number; sumNs: number } | undefined)[] {
  const events: { timeNs: number; step: 1 | -1; call: number }[] = [];
  for (const [i, call] of calls.entries()) {
    events.push({ timeNs: call.startNs, step: 1, call: i }, { timeNs: call.endNs, step: -1, call: i });
  }
  events.sort((a, b) => a.timeNs - b.timeNs || a.step - b.step);
  const bins: ({ count: number; sumNs: number } | undefined)[] = [];
  let inFlight = 0;
  for (const { step, call } of events) {
    if (step > 0) {
      if (counted(calls[call])) {
        const bin = (bins[inFlight] ??= { count: 0, sumNs: 0 });
        bin.count++;
        bin.sumNs += excessNs[call];
      }
      inFlight++;
    } else inFlight = Math.max(0, inFlight - 1);
  }
  return bins;
}
