import { mean } from './averages.ts';
import type { CallList } from './call-list.ts';
import { type CallsInTime, callsInTime } from './calls-in-time.ts';
import type { Series } from './series.ts';
import type { Timeline } from './windows.ts';

/** Servers behind a remote address, inferred from how the excess grows with the calls in flight. */
export interface HiddenCapacity {
  readonly servers: number;
  /** Extra time a call takes for each call ahead of it, ns. */
  readonly slopeNs: number;
  /** Share of the variance of the excess that the fit explains, 0..1. */
  readonly r2: number;
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
export function busyServers(own: Series, { windows, rising }: Timeline): BusyServers {
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
 *
 * @param members the calls to the server; `excessNs` and `counted` are by call
 */
export function fitHiddenCapacity(
  calls: CallList,
  members: Int32Array,
  excessNs: Float64Array,
  baseNs: number,
  counted: (call: number) => boolean,
  busy: BusyServers,
  inTime: CallsInTime = callsInTime(calls, members),
): HiddenCapacity | null {
  const bins = excessByInFlight(calls, inTime, excessNs, counted);
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
  return best !== null && best.beyond >= Math.max(15, 0.004 * members.length) ? best : null;
}

function excessByInFlight(
  { startNs }: CallList,
  { byStart, endNs }: CallsInTime,
  excessNs: Float64Array,
  counted: (call: number) => boolean,
): ({ count: number; sumNs: number } | undefined)[] {
  const bins: ({ count: number; sumNs: number } | undefined)[] = [];
  let ended = 0;
  for (let k = 0; k < byStart.length; k++) {
    const call = byStart[k];
    // At one instant calls end before others start; one that a clock makes end with its own start has then ended too early.
    while (ended < endNs.length && endNs[ended] <= startNs[call]) ended++;
    if (counted(call)) {
      const inFlight = Math.max(0, k - ended);
      const bin = (bins[inFlight] ??= { count: 0, sumNs: 0 });
      bin.count++;
      bin.sumNs += excessNs[call];
    }
  }
  return bins;
}
