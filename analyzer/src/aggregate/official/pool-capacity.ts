import type { Activity } from '../activity.ts';
import type { Requests } from '../requests-types.ts';

/** JS clocks floor starts to whole ms: a shorter wait may be none. */
const CLOCK_NS = 2e6;

interface Step {
  readonly timeNs: number;
  /** Connections taken (+) or given back (-), weighted. */
  readonly held: number;
  readonly waiting: number;
}

/** Capacity nobody states, by instance: the connections held while somebody waited for one. */
export function inferCapacity(activity: Activity, requests: Requests, queue: number): void {
  const own = activity.queues[queue];
  for (let instance = 0; instance < own.instances.length; instance++) {
    if (own.statedCapacity[instance] !== null) continue;
    const steps: Step[] = [];
    let weighted = false;
    for (const hold of activity.holds) {
      if (hold.queue !== queue || hold.instance !== instance) continue;
      const weight = requests.weight[hold.request];
      weighted ||= weight > 1;
      steps.push(
        { timeNs: hold.startNs, held: weight, waiting: 0 },
        { timeNs: hold.endNs, held: -weight, waiting: 0 },
      );
    }
    for (const wait of activity.waits) {
      if (wait.queue !== queue || wait.instance !== instance) continue;
      if (wait.endNs - wait.startNs < CLOCK_NS) continue;
      steps.push({ timeNs: wait.startNs, held: 0, waiting: 1 }, { timeNs: wait.endNs, held: 0, waiting: -1 });
    }
    const servers = heldWhileWaiting(steps, weighted);
    if (servers > 0) {
      own.queuedInUse[instance] = servers;
      own.maxInUse[instance] = servers;
    }
  }
}

/**
 * The level kept longest while somebody waits; the highest one is often a clock effect. Of a sampled export only some
 * of those who held are there, so no single level is the capacity: but with each counted by its weight, their mean is.
 */
function heldWhileWaiting(steps: Step[], weighted: boolean): number {
  steps.sort((a, b) => a.timeNs - b.timeNs || a.held - b.held);
  const timeAt = new Map<number, number>();
  let held = 0;
  let waiting = 0;
  let last = 0;
  for (const step of steps) {
    if (waiting > 0) timeAt.set(held, (timeAt.get(held) ?? 0) + step.timeNs - last);
    held += step.held;
    waiting += step.waiting;
    last = step.timeNs;
  }
  if (timeAt.size === 0) return 0;
  if (!weighted) return [...timeAt].sort((a, b) => b[1] - a[1])[0][0];
  let total = 0;
  let sum = 0;
  for (const [level, ns] of timeAt) {
    total += ns;
    sum += level * ns;
  }
  return total > 0 ? Math.round(sum / total) : 0;
}
