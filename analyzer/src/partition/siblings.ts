import { borrowFloat64, borrowInt32, giveBack } from '../model/scratch.ts';
import type { Forest } from '../tree/types.ts';

/** Every tree's spans clipped to their parents, and who can gate whom. Positions as in {@link Forest}. */
export interface Siblings {
  readonly clipStart: Float64Array;
  readonly clipEnd: Float64Array;
  /**
   * Children of row r that are active at some instant of it: rows[offset[r]] .. rows[offset[r + 1]]; whoever reads them
   * may reorder them.
   */
  readonly offset: Int32Array;
  readonly rows: Int32Array;
}

/**
 * Clips top-down, each child to its parent's *clipped* interval, and lists as gating the children of which something
 * is left. All columns are borrowed.
 */
export function gatingChildren(forest: Forest): Siblings {
  const { order, parent, start, end, table } = forest;
  const clipStart = borrowFloat64(table.length);
  const clipEnd = borrowFloat64(table.length);
  const offset = borrowInt32(table.length + 1);
  for (let at = 0; at < order.length; at++) {
    const row = order[at];
    const above = parent[row];
    if (above < 0) {
      clipEnd[row] = end[row];
      continue;
    }
    clipStart[row] = Math.max(start[row], clipStart[above]);
    clipEnd[row] = Math.max(clipStart[row], Math.min(end[row], clipEnd[above]));
    if (clipEnd[row] > clipStart[row]) offset[above + 1]++;
  }
  for (let row = 0; row < table.length; row++) offset[row + 1] += offset[row];
  const rows = borrowInt32(offset[table.length]);
  const next = borrowInt32(table.length);
  next.set(offset.subarray(0, table.length));
  for (let at = 0; at < order.length; at++) {
    const row = order[at];
    if (parent[row] >= 0 && clipEnd[row] > clipStart[row]) rows[next[parent[row]]++] = row;
  }
  giveBack(next);
  return { clipStart, clipEnd, offset, rows };
}
