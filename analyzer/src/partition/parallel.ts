import { sortSlice } from '../tree/sort-slice.ts';
import type { Forest, Tree } from '../tree/types.ts';
import type { Siblings } from './siblings.ts';

/**
 * @returns ns of the tree's root interval in which two or more gating children of one span were active: there the spans
 * alone cannot say which of them was waited for, and the partition follows its rule. Each instant counts once.
 */
export function parallelTime(forest: Forest, siblings: Siblings, tree: Tree): number {
  const { clipStart, clipEnd, offset, rows } = siblings;
  const byStart = (a: number, b: number): number => clipStart[a] - clipStart[b];
  const overlaps: Overlap[] = [];
  for (let at = tree.first; at < tree.first + tree.count; at++) {
    const first = offset[forest.order[at]];
    const last = offset[forest.order[at] + 1];
    if (last - first < 2) continue;
    if (!isOrdered(rows, clipStart, first, last)) sortSlice(rows, first, last, byStart);
    let latestEnd = clipEnd[rows[first]];
    for (let i = first + 1; i < last; i++) {
      const child = rows[i];
      const end = Math.min(clipEnd[child], latestEnd);
      if (end > clipStart[child]) overlaps.push({ start: clipStart[child], end });
      latestEnd = Math.max(latestEnd, clipEnd[child]);
    }
  }
  return overlaps.length === 0 ? 0 : unionLength(overlaps);
}

/** As they come: the rows of a tree stand in order of start. */
function isOrdered(rows: Int32Array, start: Float64Array, first: number, last: number): boolean {
  for (let i = first + 1; i < last; i++) if (start[rows[i - 1]] > start[rows[i]]) return false;
  return true;
}

interface Overlap {
  readonly start: number;
  readonly end: number;
}

/** @returns the length of the union of intervals, which it sorts. */
function unionLength(intervals: Overlap[]): number {
  intervals.sort((a, b) => a.start - b.start);
  let total = 0;
  let covered = Number.NEGATIVE_INFINITY;
  for (const { start, end } of intervals) {
    const from = Math.max(start, covered);
    if (end <= from) continue;
    total += end - from;
    covered = end;
  }
  return total;
}
