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
  const owned = new Float64Array(forest.table.length);
  const parallel = new Float64Array(forest.trees.length);
  const siblings = gatingChildren(forest);
  computeGates(forest, siblings, (row, ns) => {
    owned[row] = ns;
  });
  for (let i = 0; i < forest.trees.length; i++) parallel[i] = parallelTime(forest, siblings, forest.trees[i]);
  let gates: Gates | undefined;
  return { owned, parallel, gates: () => (gates ??= computeGates(forest, gatingChildren(forest))) };
}

/** @param onOwned told the ns each span owns itself. */
function computeGates(
  forest: Forest,
  siblings: Siblings,
  onOwned: (row: number, ns: number) => void = () => {},
): Gates {
  const { clipStart, clipEnd, offset, rows } = siblings;
  const gateStart = new Float64Array(forest.table.length);
  const gateEnd = new Float64Array(forest.table.length);
  const bestFirst = (a: number, b: number): number =>
    clipEnd[b] - clipEnd[a] || clipStart[b] - clipStart[a] || compareIds(forest.table, a, b);
  for (let i = 0; i < forest.trees.length; i++) {
    const tree = forest.trees[i];
    gateEnd[tree.root] = forest.end[tree.root];
    for (let at = tree.first; at < tree.first + tree.count; at++) {
      const row = forest.order[at];
      const last = offset[row + 1];
      if (last - offset[row] > 1) sortSlice(rows, offset[row], last, bestFirst);
      let owned = gateEnd[row] - gateStart[row];
      let cap = Number.POSITIVE_INFINITY;
      for (let k = offset[row]; k < last; k++) {
        const child = rows[k];
        cap = Math.min(cap, clipEnd[child]);
        gateStart[child] = Math.max(clipStart[child], gateStart[row]);
        gateEnd[child] = Math.max(gateStart[child], Math.min(cap, gateEnd[row]));
        owned -= gateEnd[child] - gateStart[child];
        cap = Math.min(cap, clipStart[child]);
      }
      onOwned(row, owned);
    }
  }
  return { gateStart, gateEnd };
}
