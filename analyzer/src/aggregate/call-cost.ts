import { type Call, operationKey } from './activity.ts';
import { type Drift, drifts, ENOUGH_CALLS } from './cost-drift.ts';
import type { Requests } from './requests-types.ts';
import type { Timeline } from './windows.ts';

const QUEUED_ERRORS = 2.2;

/**
 * Cost by (server, operation): mean over calls of the low windows; only of those that found the fewest others in flight
 * where these are faster beyond chance (even at low load some calls queue). An operation not seen
 * there costs what the call took. Where calls to an idle server got slower over the run, the cost drifts with time.
 */
export function callBaselines(
  calls: readonly Call[],
  ahead: Int32Array,
  requests: Requests,
  timeline: Timeline,
  lows: readonly number[],
): Float64Array {
  const low = new Set(lows);
  const byOperation = new Map<number, number[]>();
  for (const [i, call] of calls.entries()) {
    if (call.failed || requests.window[call.request] < 0) continue;
    const key = operationKey(call);
    const list = byOperation.get(key);
    if (list) list.push(i);
    else byOperation.set(key, [i]);
  }
  const base = new Map<number, { ns: number; limit: number }>();
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
    const entry = base.get(operationKey(call));
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

/** By call: how many other calls to the same server were in flight when it started. */
export function callsAhead(calls: readonly Call[]): Int32Array {
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
