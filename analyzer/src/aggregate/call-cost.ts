import type { CallList } from './call-list.ts';
import type { CallsInTime } from './calls-in-time.ts';
import { type Drift, drifts, ENOUGH_CALLS } from './cost-drift.ts';
import { groupIndexes } from './index-groups.ts';
import { windowFlags } from './intervals.ts';
import type { Requests } from './requests-types.ts';
import { slowedByOthers } from './slowed-by-others.ts';
import type { Timeline } from './windows.ts';

const QUEUED_ERRORS = 2.2;

/**
 * Cost by (server, operation): mean over calls of the low windows; only of those that found the fewest others in flight
 * where these are faster beyond chance (even at low load some calls queue); over all windows where no queue shows at the
 * server. An operation not seen there costs what the call took. Where calls to an idle server got slower over the run, the cost drifts with time.
 */
export function callBaselines(
  calls: CallList,
  ahead: Int32Array,
  requests: Requests,
  timeline: Timeline,
  lows: readonly number[],
): Float64Array {
  const isLow = windowFlags(lows, timeline.windows.length);
  const keys = calls.operationKeys();
  const byOperation = groupIndexes(calls.length, (i) =>
    calls.failed[i] || requests.window[calls.request[i]] < 0 ? null : keys[i],
  );
  const base = new Map<number, { ns: number; limit: number }>();
  for (const [key, members] of byOperation) {
    const early = members.filter((i) => isLow[requests.window[calls.request[i]]] === 1);
    if (early.length === 0) continue;
    const all = meanCost(early, calls, requests);
    const limit = timeline.sampling.kind === 'none' ? fewestAhead(early, ahead) : Number.POSITIVE_INFINITY;
    const few =
      limit === Number.POSITIVE_INFINITY
        ? all
        : meanCost(
            early.filter((i) => ahead[i] <= limit),
            calls,
            requests,
          );
    // Few calls scatter: they count only where they are faster beyond chance. By the scatter of all: costs are skewed, so
    // that few calls which happen to be fast also happen to lie close together.
    const error = all.deviationNs / Math.sqrt(few.n);
    const queued = all.ns - few.ns > QUEUED_ERRORS * error;
    base.set(key, queued ? { ns: few.ns, limit } : { ns: all.ns, limit: Number.POSITIVE_INFINITY });
  }
  const costNs = new Float64Array(calls.length);
  let lastKey = Number.NaN;
  let lastNs = Number.NaN;
  for (let i = 0; i < calls.length; i++) {
    const key = keys[i];
    if (key !== lastKey) {
      lastKey = key;
      lastNs = base.get(key)?.ns ?? Number.NaN;
    }
    costNs[i] = lastNs;
  }
  const unsampled = timeline.sampling.kind === 'none';
  if (unsampled) takeAllWindows(byOperation, calls, ahead, requests, timeline, costNs);
  const drift = unsampled ? drifts(calls, ahead, requests, costNs) : new Map<number, Drift>();
  for (let i = 0; i < calls.length; i++) {
    const slope = drift.get(calls.queue[i]);
    if (Number.isNaN(costNs[i])) costNs[i] = calls.durationNs[i];
    else if (slope) costNs[i] *= Math.max(0.1, 1 + slope.perNs * (calls.startNs[i] - slope.fromNs));
  }
  return costNs;
}

/** A server without a queue costs what its calls take on average in all windows, not only in the low ones. */
function takeAllWindows(
  byOperation: ReadonlyMap<number, Int32Array>,
  calls: CallList,
  ahead: Int32Array,
  requests: Requests,
  { rising, windows }: Timeline,
  costNs: Float64Array,
): void {
  const isUsed = windowFlags(rising, windows.length);
  const inside = (i: number) => isUsed[requests.window[calls.request[i]]] === 1;
  const byServer = Map.groupBy(byOperation.values(), (members) => calls.queue[members[0]]);
  for (const operations of byServer.values()) {
    const known = operations.map((members) => members.filter(inside)).filter((members) => members.length > 0);
    if (slowedByOthers(joined(known), calls, ahead, costNs)) continue;
    for (const members of known) {
      const { ns } = meanCost(members, calls, requests);
      for (const i of members) costNs[i] = ns;
    }
  }
}

function joined(lists: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(lists.reduce((sum, list) => sum + list.length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}

function meanCost(
  members: Int32Array,
  calls: CallList,
  requests: Requests,
): { ns: number; deviationNs: number; n: number } {
  let sum = 0;
  let squares = 0;
  let weights = 0;
  const { request, durationNs } = calls;
  for (let k = 0; k < members.length; k++) {
    const i = members[k];
    const weight = requests.weight[request[i]];
    sum += durationNs[i] * weight;
    squares += durationNs[i] * durationNs[i] * weight;
    weights += weight;
  }
  const ns = sum / weights;
  const variance = Math.max(0, squares / weights - ns * ns);
  return { ns, deviationNs: Math.sqrt(variance), n: members.length };
}

/** Least number of others in flight with which enough calls remain. */
function fewestAhead(members: Int32Array, ahead: Int32Array): number {
  const sorted = members.map((i) => ahead[i]).sort();
  return sorted[Math.min(sorted.length, ENOUGH_CALLS) - 1];
}

/** By call: how many other calls to the same server were in flight when it started. */
export function callsAhead({ length, startNs }: CallList, servers: Iterable<CallsInTime>): Int32Array {
  const ahead = new Int32Array(length);
  for (const { byStart, endNs } of servers) {
    let ended = 0;
    for (let started = 0; started < byStart.length; started++) {
      while (ended < endNs.length && endNs[ended] <= startNs[byStart[started]]) ended++;
      ahead[byStart[started]] = Math.max(0, started - ended);
    }
  }
  return ahead;
}
