import type { Classes } from '../classify/types.ts';
import type { Forest } from '../tree/types.ts';

/** Whole traces of an input: all of them, or those of one part where they are not all in memory together. */
export interface TreePart {
  readonly forest: Forest;
  readonly classes: Classes;
  /** Number of its first row, counted through all parts. */
  readonly firstRow: number;
  /** Its requests, by index into all of them, ascending. */
  readonly requests: Int32Array;
}

/** Goes through all trees of an input, part by part. A part is gone when the next one comes. */
export type EachPart = (visit: (part: TreePart) => void) => void;

/** @returns whether a row, counted through all parts, lies in this one. */
export function holdsRow({ firstRow, forest }: TreePart, row: number): boolean {
  return row >= firstRow && row < firstRow + forest.table.length;
}
