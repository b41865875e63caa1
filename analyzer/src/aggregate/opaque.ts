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
  const ahead = callsAhead(activity.calls);
  const callNs = callBaselines(activity.calls, ahead, requests, timeline, lows);
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
        busyServers(own, timeline),
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

/** An operation needs this many calls for its mean; with fewer, calls that found others in flight count too. */
const ENOUGH_CALLS = 30;
const QUEUED_ERRORS = 2.2;
/** Demand that grew with time by at least this share over the run, and beyond chance, is drift, not queueing. */
const DRIFT = 0.12;
const DRIFT_ERRORS = 3.5;

/**
 * Cost by (server, operation): mean over calls of the low windows; only of those that found the fewest others in flight
 * where these are faster beyond chance (even at low load some calls queue). An operation not seen
 * there costs what the call took. Where calls to an idle server got slower over the run, the cost drifts with time.
 */
function callBaselines(
  calls: readonly Call[],
  ahead: Int32Array,
  requests: Requests,
  timeline: Timeline,
  lows: readonly number[],
): Float64Array {
  const low = new Set(lows);
  const byOperation = new Map<string, number[]>();
  for (const [i, call] of calls.entries()) {
    if (call.failed || requests.window[call.request] < 0) continue;
    const key = `${call.queue}|${call.operation}`;
    const list = byOperation.get(key);
    if (list) list.push(i);
    else byOperation.set(key, [i]);
  }
  const base = new Map<string, { ns: number; limit: number }>();
  for (const [key, members] of byOperation) {
    const early = members.filter((i) => low.has(requests.window[calls[i].request]));
    if (early.length === 0) continue;
    const all = meanCost(early, calls, requests);
    const limit = timeline.sampling.kind === 'none' ? fewestAhead(early, ahead) : Number.POSITIVE_INFINITY;
    const few = meanCost(
      early.filter((i) => ahead[i] <= limit),
      calls,
      requests,
    );
    // Few calls scatter: they count only where they are faster beyond chance.
    const queued = all.ns - few.ns > QUEUED_ERRORS * few.error;
    base.set(key, queued ? { ns: few.ns, limit } : { ns: all.ns, limit: Number.POSITIVE_INFINITY });
  }
  const drift =
    timeline.sampling.kind === 'none' ? drifts(calls, ahead, requests, base) : new Map<number, Drift>();
  return Float64Array.from(calls, (call) => {
    const entry = base.get(`${call.queue}|${call.operation}`);
    if (!entry) return call.durationNs;
    const slope = drift.get(call.queue);
    return slope ? entry.ns * Math.max(0.1, 1 + slope.perNs * (call.startNs - slope.fromNs)) : entry.ns;
  });
}

function meanCost(
  members: readonly number[],
  calls: readonly Call[],
  requests: Requests,
): { ns: number; error: number } {
  let sum = 0;
  let squares = 0;
  let weights = 0;
  for (const i of members) {
    const weight = requests.weight[calls[i].request];
    sum += calls[i].durationNs * weight;
    squares += calls[i].durationNs ** 2 * weight;
    weights += weight;
  }
  const ns = sum / weights;
  const variance = Math.max(0, squares / weights - ns * ns);
  return { ns, error: Math.sqrt(variance / members.length) };
}

/** Least number of others in flight with which enough calls remain. */
function fewestAhead(members: readonly number[], ahead: Int32Array): number {
  const sorted = Int32Array.from(members, (i) => ahead[i]).sort();
  return sorted[Math.min(sorted.length, ENOUGH_CALLS) - 1];
}

/** Relative growth of the cost of calls per ns, and the mean time of the calls the cost was taken from. */
interface Drift {
  readonly perNs: number;
  readonly fromNs: number;
}

/**
 * By queue: least-squares line of duration / cost over time, among calls that found equally many others in flight: for
 * those the time a call takes does not depend on load, so what is left is time. Each group is divided by its mean.
 */
function drifts(
  calls: readonly Call[],
  ahead: Int32Array,
  requests: Requests,
  base: ReadonlyMap<string, { ns: number; limit: number }>,
): Map<number, Drift> {
  const groups = new Map<number, Map<number, { x: number; y: number }[]>>();
  for (const [i, call] of calls.entries()) {
    const entry = base.get(`${call.queue}|${call.operation}`);
    if (!entry || entry.ns <= 0 || requests.window[call.request] < 0 || call.failed) continue;
    let own = groups.get(call.queue);
    if (!own) {
      own = new Map();
      groups.set(call.queue, own);
    }
    const point = { x: call.startNs, y: call.durationNs / entry.ns };
    const group = own.get(ahead[i]);
    if (group) group.push(point);
    else own.set(ahead[i], [point]);
  }
  const out = new Map<number, Drift>();
  for (const [queue, own] of groups) {
    let n = 0;
    let sxx = 0;
    let sxy = 0;
    let syy = 0;
    let first = Number.POSITIVE_INFINITY;
    let last = Number.NEGATIVE_INFINITY;
    for (const group of own.values()) {
      if (group.length < ENOUGH_CALLS) continue;
      const mx = mean(group.map((p) => p.x));
      const my = mean(group.map((p) => p.y));
      if (my <= 0) continue;
      for (const { x, y } of group) {
        n++;
        sxx += (x - mx) ** 2;
        sxy += (x - mx) * (y / my - 1);
        syy += (y / my - 1) ** 2;
        first = Math.min(first, x);
        last = Math.max(last, x);
      }
    }
    if (n < 3 * ENOUGH_CALLS || sxx === 0) continue;
    const slope = sxy / sxx;
    const error = Math.sqrt(Math.max(0, syy - slope * sxy) / (n - 2) / sxx);
    if (slope * (last - first) < DRIFT || slope < DRIFT_ERRORS * error) continue;
    const lowest = [...own]
      .filter(([, group]) => group.length >= ENOUGH_CALLS)
      .sort(([x], [y]) => x - y)[0][1];
    // The cost was taken from calls that found few others, about when most of these started.
    const taken = [...lowest].sort((p, q) => p.x - q.x).slice(0, Math.max(1, lowest.length >> 1));
    out.set(queue, { perNs: slope, fromNs: mean(taken.map((p) => p.x)) });
  }
  return out;
}

/** By call: how many other calls to the same server were in flight when it started. */
function callsAhead(calls: readonly Call[]): Int32Array {
  const ahead = new Int32Array(calls.length);
  const byQueue = new Map<number, number[]>();
  for (const [i, call] of calls.entries()) {
    const list = byQueue.get(call.queue);
    if (list) list.push(i);
    else byQueue.set(call.queue, [i]);
  }
  for (const members of byQueue.values()) {
    const starts = [...members].sort((a, b) => calls[a].startNs - calls[b].startNs);
    const ends = Float64Array.from(members, (i) => calls[i].endNs).sort();
    let ended = 0;
    for (const [started, i] of starts.entries()) {
      while (ended < ends.length && ends[ended] <= calls[i].startNs) ended++;
      ahead[i] = Math.max(0, started - ended);
    }
  }
  return ahead;
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
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
    own.singleWeights[w].push(weight);
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
): HiddenCapacity | null {
  const mine: number[] = [];
  for (const [i, wait] of waits.entries()) if (wait.queue === own.queue.index) mine.push(i);
  if (mine.length === 0) return null;
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
  return capacity > 0 || timeline.sampling.kind !== 'none'
    ? null
    : fitConnections(own, mine, waits, base, requests, timeline);
}

/** Connections of an unknown gate: the same fit as for servers, a connection being a call. */
function fitConnections(
  own: Series,
  mine: readonly number[],
  waits: readonly Wait[],
  baseNs: number,
  requests: Requests,
  timeline: Timeline,
): HiddenCapacity | null {
  const calls = mine.map((i): Call => {
    const { queue, request, row, startNs, endNs } = waits[i];
    return { queue, request, row, startNs, endNs, durationNs: endNs - startNs, operation: '', failed: false };
  });
  // Busy time ends with the cost of one; the bound needs all that are in flight.
  const inFlightNs = new Float64Array(timeline.windows.length);
  for (const call of calls) addClipped(timeline.windows, call.startNs, call.endNs, 1, inFlightNs);
  return fitHiddenCapacity(
    calls,
    calls.map((call) => call.durationNs - baseNs),
    baseNs,
    (call) => requests.window[call.request] >= 0 && requests.window[call.request] <= timeline.top,
    busyServers({ ...own, busyNs: inFlightNs }, timeline),
  );
}

/** Bounds on the number of servers from the work they did. */
export interface BusyServers {
  readonly least: number;
  readonly most: number;
}

/** Measured busy servers may be this share too high or too low by chance. */
const BUSY_HIGH = 0.07;
const BUSY_LOW = 0.12;
/** Calls in flight / busy servers from which on calls surely wait, so that all servers are busy. */
const SURELY_QUEUED = 2.5;

/**
 * Utilisation law without a capacity: completions per second × cost = servers busy on average. Its highest value (mean
 * of the two highest windows) bounds the servers from below; where many more calls are in flight, also from above.
 */
function busyServers(own: Series, { windows, rising }: Timeline): BusyServers {
  const seen = rising
    .map((w) => {
      const costNs = own.holds[w] > 0 ? own.holdNs[w] / own.holds[w] : 0;
      const length = windows[w].endNs - windows[w].startNs;
      return { busy: (own.completions[w] * costNs) / length, inFlight: own.busyNs[w] / length };
    })
    .sort((a, b) => b.busy - a.busy)
    .slice(0, 2);
  if (seen.length === 0) return { least: 1, most: Number.POSITIVE_INFINITY };
  const busy = mean(seen.map((s) => s.busy));
  const inFlight = mean(seen.map((s) => s.inFlight));
  const least = Math.max(1, Math.ceil(busy * (1 - BUSY_HIGH)));
  const queued = inFlight > SURELY_QUEUED * busy + 1;
  return {
    least,
    most: queued ? Math.max(least, Math.ceil(busy * (1 + BUSY_LOW))) : Number.POSITIVE_INFINITY,
  };
}

/** Bounds of the slope: n-th in line waits n services / servers, more or less. */
const SLOPE_LOW = 0.5;
const SLOPE_HIGH = 1.3;

/**
 * Hockey stick: mean excess of calls that found n others in flight = slope × max(0, n − servers + 1), servers an
 * integer, by least squares over all calls, slope within [0.5, 1.3] × S / servers. Servers that were seen to do more
 * work than `servers` could are more than that.
 */
export function fitHiddenCapacity(
  calls: readonly Call[],
  excessNs: readonly number[],
  baseNs: number,
  counted: (call: Call) => boolean,
  busy: BusyServers,
): HiddenCapacity | null {
  const bins = excessByInFlight(calls, excessNs, counted);
  let best: (HiddenCapacity & { readonly sse: number; readonly beyond: number }) | null = null;
  for (let servers = busy.least; servers < Math.min(bins.length, busy.most + 1); servers++) {
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
