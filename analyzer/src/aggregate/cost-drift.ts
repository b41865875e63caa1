import { type Call, operationKey } from './activity.ts';
import { mean } from './averages.ts';
import type { Requests } from './requests-types.ts';

/** An operation needs this many calls for its mean; with fewer, calls that found others in flight count too. */
export const ENOUGH_CALLS = 30;

/** Demand that grew with time by at least this share over the run, and beyond chance, is drift, not queueing. */
const DRIFT = 0.12;
const DRIFT_ERRORS = 3.5;

/** Relative growth of the cost of calls per ns, and the mean time of the calls the cost was taken from. */
export interface Drift {
  readonly perNs: number;
  readonly fromNs: number;
}

/**
 * By queue: least-squares line of duration / cost over time, among calls that found equally many others in flight: for
 * those the time a call takes does not depend on load, so what is left is time. Each group is divided by its mean.
 */
export function drifts(
  calls: readonly Call[],
  ahead: Int32Array,
  requests: Requests,
  base: ReadonlyMap<number, { ns: number; limit: number }>,
): Map<number, Drift> {
  const groups = new Map<number, Map<number, { x: number; y: number }[]>>();
  for (const [i, call] of calls.entries()) {
    const entry = base.get(operationKey(call));
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
