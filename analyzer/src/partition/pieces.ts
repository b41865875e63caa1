import type { Forest, Tree } from '../tree/types.ts';
import type { Partition, Piece } from './types.ts';

/** @returns the tree's root interval as stretches in time order, each with the span that owns it; adjacent ones differ. */
export function piecesOf(forest: Forest, partition: Partition, tree: Tree): Piece[] {
  const { gateStart, gateEnd } = partition.gates();
  const { root } = tree;
  if (gateEnd[root] === gateStart[root]) return [];
  const rows = gatedByStart(forest, gateStart, gateEnd, tree);
  const pieces: Piece[] = [];
  const open = [root];
  let now = gateStart[root];
  const advance = (row: number, until: number): void => {
    if (until > now) pieces.push({ row, start: now, end: until });
    now = Math.max(now, until);
  };
  for (const row of rows) {
    for (;;) {
      const top = open[open.length - 1];
      if (top === forest.parent[row]) break;
      advance(top, gateEnd[top]);
      open.pop();
    }
    advance(open[open.length - 1], gateStart[row]);
    open.push(row);
  }
  for (let top = open.pop(); top !== undefined; top = open.pop()) advance(top, gateEnd[top]);
  return pieces;
}

/** Rows below the root with a gate, in time order, parents before children: gates of siblings do not overlap. */
function gatedByStart(forest: Forest, gateStart: Float64Array, gateEnd: Float64Array, tree: Tree): number[] {
  const rows: number[] = [];
  const depth = new Map<number, number>([[tree.root, 0]]);
  for (let at = tree.first + 1; at < tree.first + tree.count; at++) {
    const row = forest.order[at];
    if (gateEnd[row] <= gateStart[row]) continue;
    depth.set(row, (depth.get(forest.parent[row]) ?? 0) + 1);
    rows.push(row);
  }
  return rows.sort((a, b) => gateStart[a] - gateStart[b] || depth.get(a)! - depth.get(b)!);
}
