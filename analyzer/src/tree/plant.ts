import { giveBack } from '../model/scratch.ts';
import { parentIdText, type SpanTable } from '../model/span-table.ts';
import { compareStarts } from './epoch.ts';
import { compareIds } from './shared-pair.ts';
import { sortSlice } from './sort-slice.ts';
import { STATE, type Tree } from './types.ts';
import { childrenOf, rootKindName, type Work } from './work.ts';

export interface Planted {
  readonly trees: readonly Tree[];
  readonly order: Int32Array;
  readonly treeOf: Int32Array;
}

/**
 * Lists the trees and their rows in an order that does not depend on the order of the input: trees by start, trace id
 * and span id of the root; in a tree every span before its children, siblings by start, then id.
 */
export function plantTrees(work: Work, start: Float64Array): Planted {
  const { table, state, parent } = work;
  const roots: number[] = [];
  for (let row = 0; row < table.length; row++) {
    if (state[row] === STATE.inTree && parent[row] < 0) roots.push(row);
  }
  roots.sort((a, b) => compareRoots(table, a, b));
  const children = childrenOf(work);
  const lastFirst = (a: number, b: number): number => start[b] - start[a] || compareIds(table, b, a);
  const treeOf = new Int32Array(table.length).fill(-1);
  const order = new Int32Array(roots.length + children.rows.length);
  const stack: number[] = [];
  const trees: Tree[] = [];
  let filled = 0;
  for (const root of roots) {
    const first = filled;
    stack.push(root);
    while (stack.length > 0) {
      const row = stack.pop() as number;
      treeOf[row] = trees.length;
      order[filled++] = row;
      const last = children.offset[row + 1];
      sortSlice(children.rows, children.offset[row], last, lastFirst);
      for (let i = children.offset[row]; i < last; i++) stack.push(children.rows[i]);
    }
    trees.push({
      root,
      kind: rootKindName(work.rootKind[root]),
      first,
      count: filled - first,
      missingParent: missingParent(work, root),
    });
  }
  giveBack(children.offset, children.rows);
  return { trees, order: order.subarray(0, filled), treeOf };
}

function compareRoots(table: SpanTable, a: number, b: number): number {
  const byStart = compareStarts(table, a, b);
  if (byStart !== 0) return byStart;
  if (table.trace[a] === table.trace[b]) return compareIds(table, a, b);
  return table.traceIds[table.trace[a]] < table.traceIds[table.trace[b]] ? -1 : 1;
}

function missingParent(work: Work, root: number): string {
  if (rootKindName(work.rootKind[root]) !== 'orphan') return '';
  return parentIdText(work.table, work.missingFrom.get(root) ?? root);
}
