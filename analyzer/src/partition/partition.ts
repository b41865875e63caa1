import { compareIds } from '../tree/shared-pair.ts';
import { sortSlice } from '../tree/sort-slice.ts';
import type { Forest } from '../tree/types.ts';
import { parallelTime } from './parallel.ts';
import { gatingChildren } from './siblings.ts';
import type { Partition } from './types.ts';

/**
 * Gives every instant of every tree to exactly one span.
 *
 * The definition: from the root, at each level step into the active gating child whose clipped end is latest (ties:
 * later clipped start, then smaller span id as text, the SERVER half of a shared pair last); stop where none is
 * active. Intervals are half-open, in integer ns; owned times sum to the root's duration exactly.
 *
 * Computed as gates in O(n log n): a child is clipped to its parent's clipped interval; siblings are ranked by
 * (clipped end descending, clipped start descending, id ascending); a child's cap is the least of its own clipped end
 * and the clipped starts of better-ranked siblings; its gate is [clipped start, cap) within the parent's gate; a span
 * owns its gate less the gates of its children.
 */
export function partition(forest: Forest): Partition {
  const rows = forest.table.length;
  const gateStart = new Float64Array(rows);
  const gateEnd = new Float64Array(rows);
  const owned = new Float64Array(rows);
  const siblings = gatingChildren(forest);
  const { clipStart, clipEnd, offset } = siblings;
  const bestFirst = (a: number, b: number): number =>
    clipEnd[b] - clipEnd[a] || clipStart[b] - clipStart[a] || compareIds(forest.table, a, b);
  const parallel = new Float64Array(forest.trees.length);
  for (let i = 0; i < forest.trees.length; i++) {
    const tree = forest.trees[i];
    gateStart[tree.root] = 0;
    gateEnd[tree.root] = forest.end[tree.root];
    for (let at = tree.first; at < tree.first + tree.count; at++) {
      const row = forest.order[at];
      owned[row] = gateEnd[row] - gateStart[row];
      const last = offset[row + 1];
      sortSlice(siblings.rows, offset[row], last, bestFirst);
      let cap = Number.POSITIVE_INFINITY;
      for (let k = offset[row]; k < last; k++) {
        const child = siblings.rows[k];
        cap = Math.min(cap, clipEnd[child]);
        gateStart[child] = Math.max(clipStart[child], gateStart[row]);
        gateEnd[child] = Math.max(gateStart[child], Math.min(cap, gateEnd[row]));
        owned[row] -= gateEnd[child] - gateStart[child];
        cap = Math.min(cap, clipStart[child]);
      }
    }
    parallel[i] = parallelTime(forest, siblings, tree);
  }
  return { gateStart, gateEnd, owned, parallel };
}
