import { RowIndex } from '../model/row-index.ts';
import type { Activity, Call } from './activity.ts';
import { callBaselines, callsAhead } from './call-cost.ts';
import { measureConnections } from './connection-cost.ts';
import { busyServers, fitHiddenCapacity, type HiddenCapacity } from './hidden-servers.ts';
import { addClipped, windowAt } from './intervals.ts';
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
  /** Index into `activity.calls` (`activity.waits`, connections only) by row, for the composition of holds. */
  readonly callOfRow: RowIndex;
  readonly waitOfRow: RowIndex;
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
  const ahead = callsAhead(activity.calls);
  const callNs = callBaselines(activity.calls, ahead, requests, timeline, lows);
  const byQueue = new Map<number, number[]>();
  for (let i = 0; i < activity.calls.length; i++) {
    const { queue } = activity.calls[i];
    const list = byQueue.get(queue);
    if (list) list.push(i);
    else byQueue.set(queue, [i]);
  }
  const fits = new Map<number, HiddenCapacity>();
  for (const [queue, calls] of byQueue) {
    const own = series[queue];
    addCalls(own, calls, activity.calls, callNs, requests, timeline, lows);
    if (timeline.sampling.kind === 'none') {
      const fit = fitHiddenCapacity(
        calls.map((i) => activity.calls[i]),
        calls.map((i) => activity.calls[i].durationNs - callNs[i]),
        own.baseNs ?? 0,
        (call) => {
          const w = requests.window[call.request];
          return w >= 0 && w <= timeline.top;
        },
        busyServers(own, timeline),
      );
      if (fit) fits.set(queue, fit);
    }
  }
  const connectionNs = new Float64Array(activity.waits.length).fill(Number.NaN);
  for (const own of series) {
    if (own.queue.kind === 'connection')
      measureConnections(own, activity.waits, connectionNs, requests, timeline);
  }
  const callOfRow = new RowIndex();
  for (let i = 0; i < activity.calls.length; i++) callOfRow.set(activity.calls[i].row, i);
  const waitOfRow = new RowIndex();
  for (let i = 0; i < activity.waits.length; i++) {
    if (!Number.isNaN(connectionNs[i])) waitOfRow.set(activity.waits[i].row, i);
  }
  return {
    callNs,
    connectionNs,
    fits,
    callOfRow,
    waitOfRow,
  };
}

function addCalls(
  own: Series,
  members: readonly number[],
  calls: readonly Call[],
  callNs: Float64Array,
  requests: Requests,
  timeline: Timeline,
  lows: readonly number[],
): void {
  let ns = 0;
  let weights = 0;
  for (const i of members) {
    const call = calls[i];
    const weight = requests.weight[call.request];
    addClipped(timeline.windows, call.startNs, call.endNs, weight, own.busyNs);
    const end = windowAt(timeline.windows, call.endNs);
    if (end >= 0 && !call.failed) own.completions[end] += weight;
    const w = requests.window[call.request];
    if (w < 0) continue;
    const excessNs = call.durationNs - callNs[i];
    own.arrivals[w] += weight;
    own.holds[w] += weight;
    own.holdNs[w] += callNs[i] * weight;
    own.waitNs[w] += excessNs * weight;
    own.waits[w] += weight;
    own.singleWaits[w].push(Math.max(0, excessNs));
    own.singleWeights[w].push(weight);
    if (lows.includes(w) && !call.failed) {
      ns += callNs[i] * weight;
      weights += weight;
    }
  }
  own.baseNs = weights > 0 ? ns / weights : null;
}
