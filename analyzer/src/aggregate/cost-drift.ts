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
 * By queue: line of duration / cost over time, among calls that found equally many others in flight: for those the time
 * a call takes does not depend on load, so what is left is time. Each call counts by its cost: what a busy process adds to
 * every call is much for the short ones and little of the server's time.
 */
export function drifts(
  calls: readonly Call[],
  ahead: Int32Array,
  requests: Requests,
  base: ReadonlyMap<number, { ns: number; limit: number }>,
): Map<number, Drift> {
  const groups = new Map<number, Map<number, Point[]>>();
  for (const [i, call] of calls.entries()) {
    const entry = base.get(operationKey(call));
    if (!entry || entry.ns <= 0 || requests.window[call.request] < 0 || call.failed) continue;
    let own = groups.get(call.queue);
    if (!own) {
      own = new Map();
      groups.set(call.queue, own);
    }
    const point = { x: call.startNs, y: call.durationNs / entry.ns, weight: entry.ns };
    const group = own.get(ahead[i]);
    if (group) group.push(point);
    else own.set(ahead[i], [point]);
  }
  const out = new Map<number, Drift>();
  for (const [queue, own] of groups) {
    const enough = [...own].filter(([, group]) => group.length >= ENOUGH_CALLS).sort(([x], [y]) => x - y);
    const line = commonLine(enough.map(([, group]) => group));
    if (line === null) continue;
    const { slope, error, spanNs } = line;
    if (slope * spanNs < DRIFT || slope < DRIFT_ERRORS * error) continue;
    // The cost was taken from calls that found few others, about when most of these started.
    const lowest = [...enough[0][1]].sort((p, q) => p.x - q.x);
    const taken = lowest.slice(0, Math.max(1, lowest.length >> 1));
    out.set(queue, { perNs: slope, fromNs: mean(taken.map((p) => p.x)) });
  }
  return out;
}

interface Point {
  readonly x: number;
  readonly y: number;
  readonly weight: number;
}

/** Weighted least squares with one slope for all groups, each around its own mean; its error from the residuals. */
function commonLine(
  groups: readonly (readonly Point[])[],
): { slope: number; error: number; spanNs: number } | null {
  const all: Point[] = [];
  for (const group of groups) {
    const weight = group.reduce((sum, p) => sum + p.weight, 0);
    const mx = group.reduce((sum, p) => sum + p.weight * p.x, 0) / weight;
    const my = group.reduce((sum, p) => sum + p.weight * p.y, 0) / weight;
    if (my <= 0) continue;
    for (const p of group) all.push({ x: p.x - mx, y: p.y / my - 1, weight: p.weight });
  }
  let sxx = 0;
  let sxy = 0;
  for (const { x, y, weight } of all) {
    sxx += weight * x * x;
    sxy += weight * x * y;
  }
  if (all.length < 3 * ENOUGH_CALLS || sxx === 0) return null;
  const slope = sxy / sxx;
  let residual = 0;
  for (const { x, y, weight } of all) residual += (weight * x * (y - slope * x)) ** 2;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const group of groups) {
    for (const { x } of group) {
      first = Math.min(first, x);
      last = Math.max(last, x);
    }
  }
  return { slope, error: Math.sqrt(residual) / sxx, spanNs: last - first };
}
