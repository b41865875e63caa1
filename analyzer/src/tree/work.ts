import { borrowInt32, giveBack } from '../model/scratch.ts';
import type { SpanTable } from '../model/span-table.ts';
import { type RootKind, STATE } from './types.ts';

/** What the rules hand to each other: the state and the parent of every row so far, and why roots are roots. */
export interface Work {
  readonly table: SpanTable;
  /** STATE of types.ts. */
  readonly state: Uint8Array;
  /** Row of the parent; -1 for none. */
  readonly parent: Int32Array;
  /** ROOT of each root; 0 for other rows. */
  readonly rootKind: Uint8Array;
  /** For orphan roots whose missing parent is another row's: that row (a hold they were lifted from). */
  readonly missingFrom: Map<number, number>;
}

/** RootKind as a number; 0 is "no root". */
export const ROOT = { true: 1, orphan: 2, cycle: 3 } as const;
const ROOT_NAMES: readonly RootKind[] = ['true', 'orphan', 'cycle'];

export function rootKindName(kind: number): RootKind {
  return ROOT_NAMES[kind - 1];
}

export function newWork(table: SpanTable): Work {
  return {
    table,
    state: new Uint8Array(table.length),
    parent: new Int32Array(table.length).fill(-1),
    rootKind: new Uint8Array(table.length),
    missingFrom: new Map(),
  };
}

/** Children of every row as slices of one array. */
export interface Children {
  /** Children of row r: rows[offset[r]] .. rows[offset[r + 1]], in input order. */
  readonly offset: Int32Array;
  readonly rows: Int32Array;
}

/** @returns the children lists of the rows in one state (others have none and are nobody's child), borrowed. */
export function childrenOf(work: Work, wanted: number = STATE.inTree): Children {
  const { state, parent } = work;
  const n = work.table.length;
  const offset = borrowInt32(n + 1);
  for (let row = 0; row < n; row++) {
    const above = parent[row];
    if (above >= 0 && state[row] === wanted) offset[above + 1]++;
  }
  for (let row = 0; row < n; row++) offset[row + 1] += offset[row];
  const rows = borrowInt32(offset[n]);
  const at = borrowInt32(n);
  at.set(offset.subarray(0, n));
  for (let row = 0; row < n; row++) {
    const above = parent[row];
    if (above >= 0 && state[row] === wanted) rows[at[above]++] = row;
  }
  giveBack(at);
  return { offset, rows };
}

/** @returns all rows in trees, level by level: parents before children; borrowed. */
export function topDown(work: Work): Int32Array {
  const { state, parent, table } = work;
  const children = childrenOf(work);
  const order = borrowInt32(table.length);
  let filled = 0;
  for (let row = 0; row < table.length; row++) {
    if (state[row] === STATE.inTree && parent[row] < 0) order[filled++] = row;
  }
  for (let at = 0; at < filled; at++) {
    const row = order[at];
    for (let i = children.offset[row]; i < children.offset[row + 1]; i++) order[filled++] = children.rows[i];
  }
  giveBack(children.offset, children.rows);
  return order.subarray(0, filled);
}
