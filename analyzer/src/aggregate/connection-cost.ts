import { CallList } from './call-list.ts';
import { busyServers, fitHiddenCapacity, type HiddenCapacity } from './hidden-servers.ts';
import { addClipped, windowAt } from './intervals.ts';
import type { Requests } from './requests-types.ts';
import type { Series } from './series.ts';
import type { WaitList } from './wait-list.ts';
import type { Timeline } from './windows.ts';

/**
 * Cost is that of connections that said no other was ahead, else (nothing left out) of those that overlap no earlier one; fewer than this
 * cannot give it, and the fastest of all do.
 */
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
  const isWhole = timeline.sampling.kind === 'none';
  const alone = idle.length >= FEWEST_IDLE || !isWhole ? idle : openedAlone(mine, waits);
  const chosen = alone.length >= FEWEST_IDLE ? alone : fastest(mine, ns);
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
  return capacity > 0 || !isWhole ? null : fitConnections(own, mine, waits, base, requests, timeline);
}

/** @returns those that no other connection was being opened beside when they began. */
function openedAlone(mine: readonly number[], waits: WaitList): number[] {
  const alone: number[] = [];
  const byStart = [...mine].sort((a, b) => waits.startNs[a] - waits.startNs[b]);
  const openUntil = new Map<number, number>();
  for (const i of byStart) {
    const until = openUntil.get(waits.instance[i]) ?? Number.NEGATIVE_INFINITY;
    if (waits.startNs[i] >= until) alone.push(i);
    openUntil.set(waits.instance[i], Math.max(until, waits.endNs[i]));
  }
  return alone;
}

function fastest(mine: readonly number[], ns: (i: number) => number): number[] {
  const sorted = [...mine].sort((a, b) => ns(a) - ns(b));
  return sorted.slice(0, Math.floor(sorted.length * FASTEST_SHARE) + 1);
}

/**
 * Connections of an unknown gate: the same fit as for servers, a connection being a call. Each process has a gate of its
 * own, so their connections are laid out one process after the other, and count for the servers of all.
 */
function fitConnections(
  own: Series,
  mine: readonly number[],
  waits: WaitList,
  baseNs: number,
  requests: Requests,
  timeline: Timeline,
): HiddenCapacity | null {
  const { windows, top } = timeline;
  const lastNs = Math.max(...mine.map((i) => waits.endNs[i]));
  const firstNs = Math.min(...mine.map((i) => waits.startNs[i]));
  const calls = CallList.from(
    mine.map((i) => {
      const { queue, request, row, instance, startNs, endNs } = waits.at(i);
      const laterNs = instance * (lastNs - firstNs + 1);
      return {
        queue,
        request,
        row,
        startNs: startNs + laterNs,
        endNs: endNs + laterNs,
        durationNs: endNs - startNs,
        operation: -1,
        failed: false,
      };
    }),
  );
  const there =
    own.presence === null || top < 0
      ? own.queue.instances.length
      : own.presence.reduce((sum, one) => sum + one[top], 0);
  const processes = Math.max(1, Math.round(there));
  // Busy time ends with the cost of one; the bound needs all that are in flight.
  const inFlightNs = new Float64Array(windows.length);
  for (const i of mine) addClipped(windows, waits.startNs[i], waits.endNs[i], 1, inFlightNs);
  const each = (sums: Float64Array) => sums.map((sum) => sum / processes);
  const fit = fitHiddenCapacity(
    calls,
    Int32Array.from(mine, (_, call) => call),
    Float64Array.from(mine, (_, call) => calls.durationNs[call] - baseNs),
    baseNs,
    (call) => {
      const w = requests.window[calls.request[call]];
      return w >= 0 && w <= top;
    },
    busyServers({ ...own, completions: each(own.completions), busyNs: each(inFlightNs) }, timeline),
  );
  return fit && { ...fit, servers: fit.servers * processes };
}
