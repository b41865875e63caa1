import { PairIds } from '../model/pair-ids.ts';
import { mean } from './averages.ts';
import type { CallList } from './call-list.ts';
import { groupIndexes } from './index-groups.ts';
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
  calls: CallList,
  ahead: Int32Array,
  requests: Requests,
  costNs: Float64Array,
): Map<number, Drift> {
  // Calls by queue and by how many others they found.
  const found = new PairIds();
  const groups = groupIndexes(calls.length, (i) =>
    !(costNs[i] > 0) || requests.window[calls.request[i]] < 0 || calls.failed[i]
      ? null
      : found.of(calls.queue[i], ahead[i]),
  );
  const out = new Map<number, Drift>();
  for (const [queue, own] of Map.groupBy(groups.values(), (group) => calls.queue[group[0]])) {
    const enough = own
      .filter((group) => group.length >= ENOUGH_CALLS)
      .sort((a, b) => ahead[a[0]] - ahead[b[0]]);
    const line = commonLine(enough, calls, costNs);
    if (line === null) continue;
    const { slope, error, spanNs } = line;
    if (slope * spanNs < DRIFT || slope < DRIFT_ERRORS * error) continue;
    // The cost was taken from calls that found few others, about when most of these started.
    const lowest = Float64Array.from(enough[0], (i) => calls.startNs[i]).sort();
    const taken = [...lowest.subarray(0, Math.max(1, lowest.length >> 1))];
    out.set(queue, { perNs: slope, fromNs: mean(taken) });
  }
  return out;
}

/**
 * Weighted least squares of duration / cost over time with one slope for all groups, each around its own mean; its error
 * from the residuals. Calls weigh by their cost.
 */
function commonLine(
  groups: readonly Int32Array[],
  calls: CallList,
  costNs: Float64Array,
): { slope: number; error: number; spanNs: number } | null {
  const means: { group: Int32Array; mx: number; my: number }[] = [];
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const group of groups) {
    let weight = 0;
    let mx = 0;
    let my = 0;
    for (const i of group) {
      weight += costNs[i];
      mx += costNs[i] * calls.startNs[i];
      my += calls.durationNs[i];
      first = Math.min(first, calls.startNs[i]);
      last = Math.max(last, calls.startNs[i]);
    }
    if (my / weight > 0) means.push({ group, mx: mx / weight, my: my / weight });
  }
  let n = 0;
  let sxx = 0;
  let sxy = 0;
  for (const { group, mx, my } of means) {
    n += group.length;
    for (const i of group) {
      const x = calls.startNs[i] - mx;
      sxx += costNs[i] * x * x;
      sxy += costNs[i] * x * (calls.durationNs[i] / costNs[i] / my - 1);
    }
  }
  if (n < 3 * ENOUGH_CALLS || sxx === 0) return null;
  const slope = sxy / sxx;
  let residual = 0;
  for (const { group, mx, my } of means) {
    for (const i of group) {
      const x = calls.startNs[i] - mx;
      const off = costNs[i] * x * (calls.durationNs[i] / costNs[i] / my - 1 - slope * x);
      residual += off * off;
    }
  }
  return { slope, error: Math.sqrt(residual) / sxx, spanNs: last - first };
}
