import { CallList } from './call-list.ts';
import { busyServers, fitHiddenCapacity, type HiddenCapacity } from './hidden-servers.ts';
import { addClipped, windowAt } from './intervals.ts';
import type { Requests } from './requests-types.ts';
import type { Series } from './series.ts';
import type { WaitList } from './wait-list.ts';
import type { Timeline } from './windows.ts';

/** Fewer connections opened onto an idle gate cannot give its cost; then the fastest of all do. */
const FEWEST_IDLE = 10;
const FASTEST_SHARE = 0.3;

/**
 * Rule 3 for the establishment of connections: sums of `own` become cost and excess.
 *
 * @returns the fit of a gate whose capacity nobody states
 */
export function measureConnections(
  own: Series,
  waits: WaitList,
  connectionNs: Float64Array,
  requests: Requests,
  timeline: Timeline,
): HiddenCapacity | null {
  const mine: number[] = [];
  for (let i = 0; i < waits.length; i++) if (waits.queue[i] === own.queue.index) mine.push(i);
  if (mine.length === 0) return null;
  const ns = (i: number) => waits.endNs[i] - waits.startNs[i];
  const capacity = Math.max(0, ...own.queue.statedCapacity.map((c) => c ?? 0), ...own.queue.queuedInUse);
  const idle = mine.filter(
    (i) => waits.depth[i] === 0 && (waits.inUse[i] || 0) < (capacity || Number.POSITIVE_INFINITY),
  );
  const sorted = [...mine].sort((a, b) => ns(a) - ns(b));
  const chosen =
    idle.length >= FEWEST_IDLE ? idle : sorted.slice(0, Math.floor(sorted.length * FASTEST_SHARE) + 1);
  let sum = 0;
  let weights = 0;
  for (const i of chosen) {
    sum += ns(i) * requests.weight[waits.request[i]];
    weights += requests.weight[waits.request[i]];
  }
  const base = sum / weights;
  own.baseNs = base;
  const W = timeline.windows.length;
  own.busyNs.fill(0);
  for (let w = 0; w < W; w++) {
    own.holds[w] = own.waits[w];
    own.holdNs[w] = own.waits[w] * base;
    own.waitNs[w] -= own.waits[w] * base;
    own.singleWaits[w].lessen(base);
  }
  for (const i of mine) {
    connectionNs[i] = base;
    const startNs = waits.startNs[i];
    const weight = requests.weight[waits.request[i]];
    const busyUntil = startNs + Math.min(ns(i), base);
    addClipped(timeline.windows, startNs, busyUntil, weight, own.busyNs);
    const end = windowAt(timeline.windows, waits.endNs[i]);
    if (end >= 0) own.completions[end] += weight;
  }
  return capacity > 0 || timeline.sampling.kind !== 'none'
    ? null
    : fitConnections(own, mine, waits, base, requests, timeline);
}

/** Connections of an unknown gate: the same fit as for servers, a connection being a call. */
function fitConnections(
  own: Series,
  mine: readonly number[],
  waits: WaitList,
  baseNs: number,
  requests: Requests,
  timeline: Timeline,
): HiddenCapacity | null {
  const calls = CallList.from(
    mine.map((i) => {
      const { queue, request, row, startNs, endNs } = waits.at(i);
      return {
        queue,
        request,
        row,
        startNs,
        endNs,
        durationNs: endNs - startNs,
        operation: -1,
        failed: false,
      };
    }),
  );
  // Busy time ends with the cost of one; the bound needs all that are in flight.
  const inFlightNs = new Float64Array(timeline.windows.length);
  for (const call of calls) addClipped(timeline.windows, call.startNs, call.endNs, 1, inFlightNs);
  return fitHiddenCapacity(
    calls,
    Int32Array.from(mine, (_, call) => call),
    Float64Array.from(mine, (_, call) => calls.durationNs[call] - baseNs),
    baseNs,
    (call) =>
      requests.window[calls.request[call]] >= 0 && requests.window[calls.request[call]] <= timeline.top,
    busyServers({ ...own, busyNs: inFlightNs }, timeline),
  );
}
