import { collectGarbage } from '../model/garbage.ts';
import type { Activity } from './activity.ts';
import { callBaselines, callsAhead } from './call-cost.ts';
import type { CallList } from './call-list.ts';
import { callsInTime } from './calls-in-time.ts';
import { measureConnections } from './connection-cost.ts';
import { busyServers, fitHiddenCapacity, type HiddenCapacity } from './hidden-servers.ts';
import { addClipped, windowAt, windowFlags } from './intervals.ts';
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
  const { calls } = activity;
  const servers = [...calls.byQueue()].map(([queue, members]) => ({
    queue,
    members,
    inTime: callsInTime(calls, members),
  }));
  const ahead = callsAhead(
    calls,
    servers.map(({ inTime }) => inTime),
  );
  const callNs = callBaselines(calls, ahead, requests, timeline, lows);
  collectGarbage(calls.length / 10);
  const excessNs = calls.durationNs.slice(0, calls.length);
  for (let i = 0; i < calls.length; i++) excessNs[i] -= callNs[i];
  const fits = new Map<number, HiddenCapacity>();
  for (const { queue, members, inTime } of servers) {
    const own = series[queue];
    addCalls(own, members, calls, callNs, requests, timeline, lows);
    if (timeline.sampling.kind === 'none') {
      const fit = fitHiddenCapacity(
        calls,
        members,
        excessNs,
        own.baseNs ?? 0,
        (call) => {
          const w = requests.window[calls.request[call]];
          return w >= 0 && w <= timeline.top;
        },
        busyServers(own, timeline),
        inTime,
      );
      if (fit) fits.set(queue, fit);
    }
  }
  const connectionNs = new Float64Array(activity.waits.length).fill(Number.NaN);
  for (const own of series) {
    if (own.queue.kind !== 'connection') continue;
    const fit = measureConnections(own, activity.waits, connectionNs, requests, timeline);
    if (fit) fits.set(own.queue.index, fit);
  }
  return {
    callNs,
    connectionNs,
    fits,
  };
}

function addCalls(
  own: Series,
  members: Int32Array,
  calls: CallList,
  callNs: Float64Array,
  requests: Requests,
  timeline: Timeline,
  lows: readonly number[],
): void {
  const isLow = windowFlags(lows, timeline.windows.length);
  let ns = 0;
  let weights = 0;
  for (let k = 0; k < members.length; k++) {
    const i = members[k];
    const weight = requests.weight[calls.request[i]];
    addClipped(timeline.windows, calls.startNs[i], calls.endNs[i], weight, own.busyNs);
    const end = windowAt(timeline.windows, calls.endNs[i]);
    if (end >= 0 && !calls.failed[i]) own.completions[end] += weight;
    const w = requests.window[calls.request[i]];
    if (w < 0) continue;
    const excessNs = calls.durationNs[i] - callNs[i];
    own.arrivals[w] += weight;
    own.holds[w] += weight;
    own.holdNs[w] += callNs[i] * weight;
    own.waitNs[w] += excessNs * weight;
    own.waits[w] += weight;
    own.singleWaits[w].push(Math.max(0, excessNs), weight);
    if (isLow[w] === 1 && !calls.failed[i]) {
      ns += callNs[i] * weight;
      weights += weight;
    }
  }
  own.baseNs = weights > 0 ? ns / weights : null;
}
