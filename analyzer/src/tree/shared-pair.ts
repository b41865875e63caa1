import { KIND } from '../model/span.ts';
import { compareSpanIds, FLAG, type SpanTable } from '../model/span-table.ts';

/** @returns whether a row is (or would be) the server half of a shared pair. */
export function inServerHalf(table: SpanTable, row: number): boolean {
  if (table.kind[row] === KIND.server) return true;
  return table.kind[row] !== KIND.client && (table.flags[row] & FLAG.shared) !== 0;
}

/** Orders two spans of one trace by id as text; of a shared pair, which has one id, the server half comes last. */
export function compareIds(table: SpanTable, a: number, b: number): number {
  return compareSpanIds(table, a, b) || Number(inServerHalf(table, a)) - Number(inServerHalf(table, b));
}
