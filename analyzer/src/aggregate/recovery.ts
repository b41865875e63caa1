import type { Requests } from './requests-types.ts';
import type { Recovery } from './types.ts';
import type { Timeline, Window } from './windows.ts';

const STEPS = 400;

/**
 * How the backlog drained after the load fell: from the end of the last overloaded window until as few requests were
 * in flight as the rate after the fall keeps itself (√n noise added). null without a lower window after the top one.
 *
 * Predicted: the fluid limit of a queue served at the knee, by the rates that really came after the fall.
 */
export function recoveryOf(
  requests: Requests,
  timeline: Timeline,
  kneePerSecond: number | null,
): Recovery | null {
  const { windows } = timeline;
  if (kneePerSecond === null) return null;
  let over = -1;
  for (let w = 0; w < windows.length; w++) if (windows[w].arrivalsPerSecond > kneePerSecond) over = w;
  const after = windows[over + 1];
  if (over < 0 || after === undefined || after.arrivalsPerSecond >= 0.95 * kneePerSecond) return null;
  const fallNs = after.startNs;
  const endNs = windows[windows.length - 1].endNs;
  const backlog = timeline.inFlight.at(fallNs);
  const calm = calmLevel(requests, timeline, over, kneePerSecond);
  const level = calm + 2 * Math.sqrt(calm) + 1;
  let drainedNs: number | null = null;
  for (let s = 0; s <= STEPS; s++) {
    const at = fallNs + ((endNs - fallNs) * s) / STEPS;
    if (timeline.inFlight.at(at) <= level) {
      drainedNs = at;
      break;
    }
  }
  return {
    drainNs: drainedNs === null ? null : Math.round(drainedNs - fallNs),
    residual: Math.max(0, Math.round(timeline.inFlight.at(endNs) - level)),
    predictedNs: fluidDrainNs(Math.max(0, backlog - calm), windows.slice(over + 1), kneePerSecond),
  };
}

/**
 * Time in which a backlog drains at the knee less what arrives: in the windows given, and on as in the last of them; null
 * where that leaves nothing to drain it.
 */
function fluidDrainNs(backlog: number, after: readonly Window[], kneePerSecond: number): number | null {
  let left = backlog;
  let passed = 0;
  for (const [i, { arrivalsPerSecond, seconds }] of after.entries()) {
    const spare = kneePerSecond - arrivalsPerSecond;
    if (left > spare * seconds && i < after.length - 1) {
      left -= spare * seconds;
      passed += seconds;
    } else return spare > 0 ? Math.round((passed + left / spare) * 1e9) : null;
  }
  return null;
}

/** Mean requests in flight in the calm windows before the overload: those below 0.75 × knee. */
function calmLevel(requests: Requests, timeline: Timeline, over: number, knee: number): number {
  let ns = 0;
  let length = 0;
  for (let w = 0; w < over; w++) {
    if (timeline.windows[w].arrivalsPerSecond > 0.75 * knee) continue;
    length += timeline.windows[w].endNs - timeline.windows[w].startNs;
    for (let i = 0; i < requests.count; i++) {
      if (requests.window[i] === w) ns += requests.durationNs[i] * requests.weight[i];
    }
  }
  return length > 0 ? ns / length : 1;
}
