import { KIND } from '../model/span.ts';
import { FLAG } from '../model/span-table.ts';
import { LateAncestors } from './ancestors.ts';
import { endedEarly } from './ended-early.ts';
import { durationNs } from './epoch.ts';
import type { Timeline } from './timeline.ts';
import { STATE } from './types.ts';
import type { Work } from './work.ts';

export interface Overruns {
  clamped: number;
  adopted: number;
  detached: number;
  detachedNs: bigint;
  abandoned: number;
  abandonedNs: bigint;
}

/**
 * Rules 6 and 7: spans that end after their parent. Every comparison is between recorded ends after the clock shift
 * (the timeline), never between ends that were cut here.
 *
 * @param order all rows in trees, parents before children.
 * @param end receives the cut ends; starts out as a copy of the timeline's.
 */
export function settleOverruns(
  work: Work,
  order: Int32Array,
  timeline: Timeline,
  end: Float64Array,
  toleranceNs: number,
): Overruns {
  const counts: Overruns = {
    clamped: 0,
    adopted: 0,
    detached: 0,
    detachedNs: 0n,
    abandoned: 0,
    abandonedNs: 0n,
  };
  counts.clamped += clampWithinTolerance(work, order, timeline, end, toleranceNs);
  if (someGoBeyond(work, order, timeline, toleranceNs)) {
    beyondTolerance(work, order, timeline, end, toleranceNs, counts);
  }
  return counts;
}

/** Rule 6: an overrun up to the tolerance is cut to the parent's end. @returns how many were. */
function clampWithinTolerance(
  { parent }: Work,
  order: Int32Array,
  timeline: Timeline,
  end: Float64Array,
  toleranceNs: number,
): number {
  let clamped = 0;
  for (let at = 0; at < order.length; at++) {
    const row = order[at];
    if (parent[row] < 0) continue;
    const overrun = timeline.endAfter(row, parent[row]);
    if (overrun <= 0 || overrun > toleranceNs) continue;
    cut(timeline, end, row, parent[row]);
    clamped++;
  }
  return clamped;
}

function someGoBeyond({ parent }: Work, order: Int32Array, timeline: Timeline, toleranceNs: number): boolean {
  for (let at = 0; at < order.length; at++) {
    const row = order[at];
    if (parent[row] >= 0 && timeline.endAfter(row, parent[row]) > toleranceNs) return true;
  }
  return false;
}

/**
 * Rule 7: an overrun beyond the tolerance, top-down; the first that applies. (a) A SERVER child of a CLIENT: the caller
 * stopped waiting, the rest is abandoned time. (b) A parent that ended early: likewise. (c) A CONSUMER or
 * FOLLOWS_FROM-only child was never waited for: detached. (d) Adopted by the nearest ancestor whose end + tolerance
 * covers it, then clamped to it. (e) No such ancestor: detached, with its subtree, which is not examined again.
 */
function beyondTolerance(
  work: Work,
  order: Int32Array,
  timeline: Timeline,
  end: Float64Array,
  toleranceNs: number,
  counts: Overruns,
): void {
  const { table, parent, state } = work;
  const early = endedEarly(table);
  const ancestors = new LateAncestors(table.length, (a, b) => timeline.endAfter(a, b));
  for (let at = 0; at < order.length; at++) {
    const row = order[at];
    const above = parent[row];
    if (above >= 0 && state[above] === STATE.detached) {
      state[row] = STATE.detached;
      continue;
    }
    if (above >= 0 && timeline.endAfter(row, above) > toleranceNs) {
      if ((table.kind[row] === KIND.server && table.kind[above] === KIND.client) || early(above)) {
        counts.abandoned++;
        counts.abandonedNs += timeline.beyondEnd(row, above);
        cut(timeline, end, row, above);
      } else {
        const neverAwaited = table.kind[row] === KIND.consumer || (table.flags[row] & FLAG.followsFrom) !== 0;
        const adopter = neverAwaited ? -1 : ancestors.covering(row, above, toleranceNs);
        if (adopter < 0) {
          state[row] = STATE.detached;
          counts.detached++;
          counts.detachedNs += BigInt(durationNs(table, row));
          continue;
        }
        parent[row] = adopter;
        counts.adopted++;
        if (timeline.endAfter(row, adopter) > 0) {
          cut(timeline, end, row, adopter);
          counts.clamped++;
        }
      }
    }
    ancestors.add(row, parent[row]);
  }
}

/** Cuts a row's end to that of another, but never before its own start: a late start leaves it empty. */
function cut(timeline: Timeline, end: Float64Array, row: number, other: number): void {
  end[row] = Math.max(timeline.start[row], Math.min(end[row], timeline.end[other]));
}
