import type { Activity } from './activity.ts';
import type { Requests } from './requests-types.ts';
import type { Timeline } from './windows.ts';

/** So many visits cannot all be missing by chance: e⁻¹² for random arrivals. */
const CERTAINLY_MISSING = 12;

/** From the first to the last thing a process did at a queue, and how many things. */
interface Life {
  startNs: number;
  endNs: number;
  n: number;
}

/**
 * By queue, instance and window: share of the window in which the process was there, 0..1; null where all were there all
 * the time. A process that was replaced, added or ended lends its servers for a part of the run only.
 *
 * It was there from its first to its last visit, and beyond unless the visits it would have had there, going by those
 * it had, cannot be missing by chance. A window in which nobody was there counts for all: the queue was idle.
 */
export function presences(
  activity: Activity,
  requests: Requests,
  { windows }: Timeline,
): (readonly Float64Array[] | null)[] {
  const lives = livesOf(activity);
  return activity.queues.map((queue) => {
    const own = lives[queue.index];
    if (queue.scope === 'shared' || own.length < 2) return null;
    const shares = own.map((life) => {
      const { startNs, endNs } = certainLife(life, requests);
      return Float64Array.from(windows, (window) => {
        const ns = Math.min(endNs, window.endNs) - Math.max(startNs, window.startNs);
        return Math.max(0, Math.min(1, ns / (window.endNs - window.startNs)));
      });
    });
    for (let w = 0; w < windows.length; w++) {
      if (shares.every((share) => share[w] === 0)) for (const share of shares) share[w] = 1;
    }
    return shares.every((share) => share.every((part) => part === 1)) ? null : shares;
  });
}

function livesOf({ queues, waits, holds, work, pauses }: Activity): Life[][] {
  const newLives = () =>
    queues.map(({ instances }) => instances.map((): Life => ({ startNs: Infinity, endNs: -Infinity, n: 0 })));
  const all = newLives();
  // Of one visit there may be a wait and a hold.
  for (const list of [waits, holds, work, pauses]) {
    const own = newLives();
    for (let i = 0; i < list.length; i++)
      add(own[list.queue[i]][list.instance[i]], list.startNs[i], list.endNs[i], 1);
    for (const [queue, lives] of own.entries()) {
      for (const [instance, { startNs, endNs, n }] of lives.entries()) {
        const life = all[queue][instance];
        add(life, startNs, endNs, Math.max(0, n - life.n));
      }
    }
  }
  return all;
}

function add(life: Life, startNs: number, endNs: number, n: number): void {
  life.startNs = Math.min(life.startNs, startNs);
  life.endNs = Math.max(life.endNs, endNs);
  life.n += n;
}

/** Without end on a side on which its absence is not certain. */
function certainLife({ startNs, endNs, n }: Life, { startNs: starts, count }: Requests): Life {
  const before = startedBefore(starts, startNs);
  const during = startedBefore(starts, endNs) - before;
  const perRequest = (Math.min(n, during) - 1) / during;
  const isMissing = (others: number) => perRequest * others > CERTAINLY_MISSING;
  return {
    startNs: isMissing(before) ? startNs : -Infinity,
    endNs: isMissing(count - before - during) ? endNs : Infinity,
    n,
  };
}

/** @returns how many of ascending times lie before one. */
function startedBefore(times: Float64Array, limit: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
