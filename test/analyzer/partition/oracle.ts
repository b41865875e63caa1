import { KIND } from '../../../analyzer/src/model/span.ts';
import { FLAG, spanIdText } from '../../../analyzer/src/model/span-table.ts';
import type { Forest, Tree } from '../../../analyzer/src/tree/types.ts';

/**
 * The partition as it is defined, instant by instant: the root's interval is cut at every start and end in the tree, and
 * for each elementary interval somebody walks down from the root. Nothing is ranked, gated or shared with the product.
 */
export interface NaivePartition {
  /** Owned ns by row. */
  readonly owned: Map<number, number>;
  /** Stretches in time order, neighbours with one owner joined. */
  readonly pieces: { row: number; start: number; end: number }[];
  readonly parallel: number;
}

export function naivePartition(forest: Forest, tree: Tree): NaivePartition {
  const rows = [...forest.order.subarray(tree.first, tree.first + tree.count)];
  const clip = (row: number): { from: number; to: number } => {
    if (row === tree.root) return { from: 0, to: forest.end[row] };
    const parent = clip(forest.parent[row]);
    return { from: Math.max(parent.from, forest.start[row]), to: Math.min(parent.to, forest.end[row]) };
  };
  const clipped = new Map(rows.map((row) => [row, clip(row)]));
  const activeAt = (row: number, t: number): boolean => {
    const { from, to } = clipped.get(row)!;
    return from <= t && t < to;
  };
  const inRoot = (t: number): boolean => t >= 0 && t <= forest.end[tree.root];
  const cuts = [...new Set(rows.flatMap((row) => [forest.start[row], forest.end[row]]).filter(inRoot))].sort(
    (a, b) => a - b,
  );
  const owned = new Map(rows.map((row) => [row, 0]));
  const pieces: NaivePartition['pieces'] = [];
  let parallel = 0;
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [from, to] = [cuts[i], cuts[i + 1]];
    const childrenAt = (row: number): number[] =>
      rows.filter((child) => child !== tree.root && forest.parent[child] === row && activeAt(child, from));
    let owner = tree.root;
    for (let next = childrenAt(owner); next.length > 0; next = childrenAt(owner)) {
      owner = next.reduce((a, b) => (isBetter(forest, clipped, a, b) ? a : b));
    }
    owned.set(owner, owned.get(owner)! + (to - from));
    if (rows.some((row) => activeAt(row, from) && childrenAt(row).length > 1)) parallel += to - from;
    const last = pieces.at(-1);
    if (last?.row === owner) last.end = to;
    else pieces.push({ row: owner, start: from, end: to });
  }
  return { owned, pieces, parallel };
}

function isBetter(
  { table }: Forest,
  clipped: Map<number, { from: number; to: number }>,
  a: number,
  b: number,
): boolean {
  const [x, y] = [clipped.get(a)!, clipped.get(b)!];
  if (x.to !== y.to) return x.to > y.to;
  if (x.from !== y.from) return x.from > y.from;
  const [p, q] = [spanIdText(table, a), spanIdText(table, b)];
  if (p !== q) return p < q;
  return !(table.kind[a] === KIND.server || (table.flags[a] & FLAG.shared) !== 0);
}
