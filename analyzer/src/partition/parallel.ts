import type { Forest, Tree } from '../tree/types.ts';
import type { Siblings } from './siblings.ts';

/**
 * @returns ns of the tree's root interval in which two or more gating children of one span were active: there the spans
 * alone cannot say which of them was waited for, and the partition follows its rule. Each instant counts once.
 */
export function parallelTime(forest: Forest, siblings: Siblings, tree: Tree): number {
  const { clipStart, clipEnd } = siblings;
  const overlaps: number[] = [];
  const byStart: number[] = [];
  for (let at = tree.first; at < tree.first + tree.count; at++) {
    const children = siblings.of(forest.order[at]);
    if (children.length < 2) continue;
    byStart.length = 0;
    for (const child of children) byStart.push(child);
    byStart.sort((a, b) => clipStart[a] - clipStart[b]);
    let latestEnd = clipEnd[byStart[0]];
    for (let i = 1; i < byStart.length; i++) {
      const child = byStart[i];
      const until = Math.min(clipEnd[child], latestEnd);
      if (until > clipStart[child]) overlaps.push(clipStart[child], until);
      latestEnd = Math.max(latestEnd, clipEnd[child]);
    }
  }
  return unionLength(overlaps);
}

/** @returns the length of the union of intervals given as start, end, start, end, … */
function unionLength(intervals: readonly number[]): number {
  const order = Array.from({ length: intervals.length / 2 }, (_, i) => 2 * i);
  order.sort((a, b) => intervals[a] - intervals[b]);
  let total = 0;
  let covered = Number.NEGATIVE_INFINITY;
  for (const i of order) {
    const from = Math.max(intervals[i], covered);
    const to = intervals[i + 1];
    if (to <= from) continue;
    total += to - from;
    covered = to;
  }
  return total;
}
