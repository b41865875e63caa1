import { grown } from './growing.ts';
import { type Memory, ownMemory } from './shared-memory.ts';

export type U32Column = (typeof U32_COLUMNS)[number];
export const U32_COLUMNS = [
  'trace',
  'spanHi',
  'spanLo',
  'parentHi',
  'parentLo',
  'name',
  'startSec',
  'startNs',
  'endSec',
  'endNs',
  'resource',
  'scope',
  'traceState',
  'statusMessage',
] as const;

export type U8Column = (typeof U8_COLUMNS)[number];
export const U8_COLUMNS = ['kind', 'status', 'flags'] as const;

/** The growing columns of a table. A scanner writes them itself. */
export type SpanColumns = Record<U32Column, Uint32Array> & Record<U8Column, Uint8Array>;

/** @returns columns of some length; `make` gives each its array. */
export function columnsBy(
  u32: (name: U32Column) => Uint32Array,
  u8: (name: U8Column) => Uint8Array,
): SpanColumns {
  return {
    ...(Object.fromEntries(U32_COLUMNS.map((name) => [name, u32(name)])) as Record<U32Column, Uint32Array>),
    ...(Object.fromEntries(U8_COLUMNS.map((name) => [name, u8(name)])) as Record<U8Column, Uint8Array>),
  };
}

export function newColumns(length: number, memory: Memory = ownMemory): SpanColumns {
  return columnsBy(
    () => new Uint32Array(memory(length * 4)),
    () => new Uint8Array(memory(length)),
  );
}

/** @returns the first rows of every column, without a copy. */
export function firstRows(columns: SpanColumns, rows: number): SpanColumns {
  return columnsBy(
    (name) => columns[name].subarray(0, rows),
    (name) => columns[name].subarray(0, rows),
  );
}

/** Gives every column more room; they are other arrays afterwards. */
export function growColumns(columns: SpanColumns, length: number, memory: Memory): void {
  for (const name of U32_COLUMNS) columns[name] = grown(columns[name], new Uint32Array(memory(length * 4)));
  for (const name of U8_COLUMNS) columns[name] = grown(columns[name], new Uint8Array(memory(length)));
}
