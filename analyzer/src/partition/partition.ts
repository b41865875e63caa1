import { giveBack } from '../model/scratch.ts';
import { compareIds } from '../tree/shared-pair.ts';
import { sortSlice } from '../tree/sort-slice.ts';
import type { Forest } from '../tree/types.ts';
import { parallelTime } from './parallel.ts';
import { gatingChildren, type Siblings } from './siblings.ts';
import type { Gates, Partition } from './types.ts';

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
  const siblings = gatingChildren(forest);
  const parallel = new Float64Array(forest.trees.length);
  for (let i = 0; i < forest.trees.length; i++) parallel[i] = parallelTime(forest, siblings, forest.trees[i]);
  const owned = new Float64Array(forest.table.length);
  gatesOf(forest, siblings, owned);
  giveBack(siblings.clipStart, siblings.clipEnd, siblings.offset, siblings.rows);
  let gates: Gates | undefined;
  return { owned, parallel, gates: () => (gates ??= gatesOf(forest, gatingChildren(forest), null)) };
}

/**
 * Turns the clipped intervals of the siblings into their gates, in place: top-down, and after a span's children have
 * theirs nobody asks for the interval it was clipped to.
 *
 * @param owned receives the ns each span owns itself.
 */
function gatesOf(forest: Forest, siblings: Siblings, owned: Float64Array | null): Gates {
  const { clipStart, clipEnd, offset, rows } = siblings;
  const bestFirst = (a: number, b: number): number =>
    clipEnd[b] - clipEnd[a] || clipStart[b] - clipStart[a] || compareIds(forest.table, a, b);
  for (let at = 0; at < forest.order.length; at++) {
    const row = forest.order[at];
    const first = offset[row];
    const last = offset[row + 1];
    if (last - first > 1) sortSlice(rows, first, last, bestFirst);
    let own = clipEnd[row] - clipStart[row];
    let cap = Number.POSITIVE_INFINITY;
    for (let k = first; k < last; k++) {
      const child = rows[k];
      const start = clipStart[child];
      cap = Math.min(cap, clipEnd[child]);
      clipStart[child] = Math.max(start, clipStart[row]);
      clipEnd[child] = Math.max(clipStart[child], Math.min(cap, clipEnd[row]));
      own -= clipEnd[child] - clipStart[child];
      cap = Math.min(cap, start);
    }
    if (owned !== null) owned[row] = own;
  }
  return { gateStart: clipStart, gateEnd: clipEnd };
}
