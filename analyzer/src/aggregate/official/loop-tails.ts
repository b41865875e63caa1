import { RESOURCE_EVENT_LOOP } from '@waitfall/instrumentation/conventions';
import type { Forest } from '../../tree/types.ts';
import { ACQUIRED, type Activity } from '../activity.ts';
import type { Overlay } from '../host-pieces.ts';
import { addClipped, windowAt } from '../intervals.ts';
import type { Requests } from '../requests-types.ts';
import type { Timeline } from '../windows.ts';

/** Windows with fewer calls to a server say nothing about it. */
const FEWEST_CALLS = 20;
/** A wait for the loop is at most this multiple of u / (1 - u) x mean slice, what random arrivals give. */
const BURSTS = 3;
const NO_BOUND = 0.97;
const LEAST_NS = 5e4;
const LOCKS_ROWS = /^(UPDATE|DELETE|MERGE)\b/;
/** Servers that slow down by about the same time share a cause outside of them, whatever the loop seems to do. */
const ALIKE = 2;
const ALIKE_NS = 2e5;

/**
 * A client span ends when its callback runs, so it contains the wait for the event loop, and that part is the same for
 * every server. By window: the least mean excess of any server, at most what the utilisation of the loop allows, is
 * taken off the end of every call and counted as waiting for the loop.
 */
export function rebuildLoopTails(
  forest: Forest,
  requests: Requests,
  activity: { -readonly [K in keyof Activity]: Activity[K] },
  timeline: Timeline,
  lows: readonly number[],
  overlays: Map<number, Overlay[]>,
): void {
  const loops = new Map(
    activity.queues.filter((q) => q.name === RESOURCE_EVENT_LOOP).map((q) => [q.service, q]),
  );
  if (loops.size === 0 || activity.calls.length === 0) return;
  const tails = commonExcess(activity, requests, timeline, lows);
  const { calls } = activity;
  for (let i = 0; i < calls.length; i++) {
    const call = calls.at(i);
    const w = requests.window[call.request];
    const { service, instance } = forest.table.resources[forest.table.resource[call.row]];
    const loop = loops.get(service);
    const tailNs = w >= 0 && loop ? Math.min(tails[w], call.durationNs) : 0;
    if (!loop || tailNs < LEAST_NS) continue;
    const end = forest.end[call.row];
    activity.waits.push({
      queue: loop.index,
      instance: Math.max(0, loop.instances.indexOf(instance)),
      request: call.request,
      row: call.row,
      startNs: call.endNs - tailNs,
      endNs: call.endNs,
      outcome: ACQUIRED,
      inUse: null,
      depth: null,
    });
    const overlay: Overlay = { start: end - tailNs, end, segment: 'eventloop_wait', queue: loop.index };
    const list = overlays.get(call.row);
    if (list) list.push(overlay);
    else overlays.set(call.row, [overlay]);
    calls.endNs[i] -= tailNs;
    calls.durationNs[i] -= tailNs;
  }
}

/** By window: the least mean excess over the servers, bounded by the utilisation of the busiest loop. */
function commonExcess(
  activity: Activity,
  requests: Requests,
  timeline: Timeline,
  lows: readonly number[],
): Float64Array {
  const { windows } = timeline;
  const low = new Set(lows);
  const cost = new Map<number, { ns: number; n: number }>();
  const locksRows = activity.operations.map((operation) => LOCKS_ROWS.test(operation));
  const { calls } = activity;
  const keys = calls.operationKeys();
  for (let i = 0; i < calls.length; i++) {
    const call = calls.at(i);
    if (call.failed || !low.has(requests.window[call.request])) continue;
    const entry = cost.get(keys[i]) ?? { ns: 0, n: 0 };
    entry.ns += call.durationNs;
    entry.n++;
    cost.set(keys[i], entry);
  }
  const excess = new Map<number, { ns: Float64Array; n: Float64Array }>();
  for (let i = 0; i < calls.length; i++) {
    const call = calls.at(i);
    const w = requests.window[call.request];
    const base = cost.get(keys[i]);
    // A statement that locks rows may have waited for them.
    if (w < 0 || !base || call.failed || locksRows[call.operation]) continue;
    let own = excess.get(call.queue);
    if (!own) {
      own = { ns: new Float64Array(windows.length), n: new Float64Array(windows.length) };
      excess.set(call.queue, own);
    }
    own.ns[w] += call.durationNs - base.ns / base.n;
    own.n[w]++;
  }
  const bound = loopBound(activity, timeline);
  return Float64Array.from(windows, (_, w) => {
    const known = [...excess.values()]
      .filter((own) => own.n[w] >= FEWEST_CALLS)
      .map((own) => own.ns[w] / own.n[w])
      .sort((a, b) => a - b);
    if (known.length === 0) return 0;
    const alike = known.length > 1 && known[0] > ALIKE_NS && known[1] < ALIKE * known[0] + ALIKE_NS;
    return Math.max(0, alike ? known[0] : Math.min(bound[w], known[0]));
  });
}

function loopBound(activity: Activity, { windows }: Timeline): Float64Array {
  const processes = new Map<string, { busyNs: Float64Array; slices: Float64Array }>();
  for (const slice of activity.work) {
    const id = `${slice.queue}|${slice.instance}`;
    let own = processes.get(id);
    if (!own) {
      own = { busyNs: new Float64Array(windows.length), slices: new Float64Array(windows.length) };
      processes.set(id, own);
    }
    addClipped(windows, slice.startNs, slice.endNs, 1, own.busyNs);
    const w = windowAt(windows, slice.startNs);
    if (w >= 0) own.slices[w]++;
  }
  return Float64Array.from(windows, (window, w) => {
    let bound = 0;
    for (const { busyNs, slices } of processes.values()) {
      if (slices[w] === 0) continue;
      const u = busyNs[w] / (window.endNs - window.startNs);
      if (u >= NO_BOUND) return Number.POSITIVE_INFINITY;
      bound = Math.max(bound, (BURSTS * u * (busyNs[w] / slices[w])) / (1 - u));
    }
    return bound;
  });
}
