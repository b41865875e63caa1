import type { Activity } from '../activity.ts';
import type { Overlay } from '../host-pieces.ts';
import type { QueueIndex } from '../queue-index.ts';
import type { Requests } from '../requests-types.ts';
import type { EachPart } from '../tree-parts.ts';
import type { Timeline } from '../windows.ts';
import { rebuildGaps } from './gaps.ts';
import { rebuildLoopTails } from './loop-tails.ts';
import { rebuildPoolHolds } from './pools.ts';
import { rebuildRowLocks } from './row-locks.ts';

export interface Rebuilt {
  /** Stretches of spans that are waits or work, by row. */
  readonly overlays: ReadonlyMap<number, readonly Overlay[]>;
  /** Something was rebuilt, so the verdict is less certain. */
  readonly any: boolean;
}

/**
 * Rebuilds what an export does not state: holds of pools that state only waits; where no span states a segment at all,
 * also row locks, the event loop and admission (facts in each file). Adds to `activity`.
 */
export function rebuild(
  eachPart: EachPart,
  requests: Requests,
  activity: Activity,
  index: QueueIndex,
  timeline: Timeline,
  lows: readonly number[],
): Rebuilt {
  const overlays = new Map<number, Overlay[]>();
  const holds = rebuildPoolHolds(eachPart, requests, activity);
  if (activity.stated) return { overlays, any: holds.length > 0 };
  let parts = 0;
  eachPart(({ forest, classes }) => {
    if (parts++ > 0) throw new Error('what an export does not state is rebuilt from all its trees at once');
    rebuildGaps(forest, classes, requests, activity, index, lows, timeline.rising, overlays);
    // With one rate, growth cannot tell a wait from its cost.
    if (timeline.rising.length > 1) {
      rebuildLoopTails(forest, requests, activity, timeline, lows, overlays);
      rebuildRowLocks(forest, requests, activity, index, holds, lows, timeline.rising, overlays);
    }
  });
  for (const list of overlays.values()) list.sort((a, b) => a.start - b.start);
  return { overlays, any: true };
}
