import { REQUEST_OUTCOMES } from '../classify/types.ts';
import type { Activity } from './activity.ts';
import { isStable } from './backlog-growth.ts';
import { type Parts, windowGroups } from './groups.ts';
import { windowAt } from './intervals.ts';
import type { Requests } from './requests-types.ts';
import type { RequestGroup, WindowRow } from './types.ts';
import type { Timeline } from './windows.ts';

/**
 * One row a window, with its accounting (in flight at the start + entered − left = in flight at the end).
 *
 * @param groups the requests of each window
 */
export function windowRows(
  requests: Requests,
  parts: Parts,
  timeline: Timeline,
  activity: Activity,
  groups: readonly RequestGroup[] = windowGroups(requests, parts, timeline.windows.length),
): WindowRow[] {
  const { windows } = timeline;
  const left = new Float64Array(windows.length);
  const leftGood = new Float64Array(windows.length);
  const success = REQUEST_OUTCOMES.indexOf('success');
  for (let i = 0; i < requests.count; i++) {
    const end = windowAt(windows, requests.startNs[i] + requests.durationNs[i]);
    if (end < 0) continue;
    left[end] += requests.weight[i];
    if (requests.outcome[i] === success) leftGood[end] += requests.weight[i];
  }
  const started = admissions(activity, requests, timeline);
  return windows.map((window, w): WindowRow => {
    const group = groups[w];
    const inFlightStart = timeline.inFlight.at(window.startNs);
    return {
      startUnixNano: requests.originUnixNano + BigInt(Math.round(window.startNs)),
      endUnixNano: requests.originUnixNano + BigInt(Math.round(window.endNs)),
      phase: window.phase,
      plannedPerSecond: window.step?.arrivalsPerSecond ?? null,
      receivedPerSecond: window.requests / window.seconds,
      startedPerSecond: started === null ? null : started[w] / window.seconds,
      completedPerSecond: left[w] / window.seconds,
      goodputPerSecond: leftGood[w] / window.seconds,
      byOutcome: group.byOutcome,
      latencyNs: group.latencyNs,
      goodLatencyNs: group.goodLatencyNs,
      stable: isStable(timeline.inFlight, window),
      segments: group.segments,
      accounting: {
        // Sums of weights far apart may cancel to a little less than none.
        inFlightStart: Math.max(0, Math.round(inFlightStart)),
        entered: Math.round(window.requests),
        left: Math.round(left[w]),
        inFlightEnd: Math.max(0, Math.round(inFlightStart + window.requests - left[w])),
      },
    };
  });
}

/** Admission slots taken, by window; null where no admission queue is known. */
function admissions(activity: Activity, requests: Requests, timeline: Timeline): Float64Array | null {
  const known = new Set(activity.queues.filter((q) => q.kind === 'admission').map((q) => q.index));
  const { holds } = activity;
  const sums = new Float64Array(timeline.windows.length);
  let isKnown = false;
  for (let i = 0; i < holds.length; i++) {
    if (!known.has(holds.queue[i])) continue;
    isKnown = true;
    const w = windowAt(timeline.windows, holds.startNs[i]);
    if (w >= 0) sums[w] += requests.weight[holds.request[i]];
  }
  return isKnown ? sums : null;
}
