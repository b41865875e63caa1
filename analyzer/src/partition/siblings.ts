import type { Forest } from '../tree/types.ts';

/** Every tree's spans clipped to their parents, and who can gate whom. Positions as in {@link Forest}. */
export interface Siblings {
  readonly clipStart: Float64Array;
  readonly clipEnd: Float64Array;
  /** The children of a row that are active at some instant of it; a view the caller may reorder. */
  of(row: number): Int32Array;
}

/**
 * Clips top-down, each child to its parent's *clipped* interval, and lists as gating the children of which something
 * is left.
 */
export function gatingChildren(forest: Forest): Siblings {
  const { order, parent, start, end, table } = forest;
  const clipStart = new Float64Array(table.length);
  const clipEnd = new Float64Array(table.length);
  const offset = new Int32Array(table.length + 1);
  for (const row of order) {
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
  const children = new Int32Array(offset[table.length]);
  const at = offset.slice(0, table.length);
  for (const row of order) {
    if (parent[row] >= 0 && clipEnd[row] > clipStart[row]) children[at[parent[row]]++] = row;
  }
  const none = new Int32Array(0);
  const of = (row: number): Int32Array =>
    offset[row] === offset[row + 1] ? none : children.subarray(offset[row], offset[row + 1]);
  return { clipStart, clipEnd, of };
}
