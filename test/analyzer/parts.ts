import type { Input } from '../../analyzer/src/model/input.ts';
import { sharedCopy } from '../../analyzer/src/model/shared-memory.ts';
import { U8_COLUMNS, U32_COLUMNS } from '../../analyzer/src/model/span-columns.ts';
import type { SpanTable } from '../../analyzer/src/model/span-table.ts';
import { type Rows, SpilledRows } from '../../analyzer/src/model/spilled-table.ts';

/** An input as a limit of memory would leave it: its spans in a file, written in blocks, to be loaded in parts. */
export function spilled(input: Input, parts: number, blocks = 3): Input {
  const { table } = input;
  const rows = new SpilledRows(parts, (trace) => hashOf(table.traceIds[trace]));
  for (let block = 0; block < blocks; block++) {
    const at = (b: number) => Math.floor((b * table.length) / blocks);
    rows.write(rowsOf(table, at(block), at(block + 1)));
  }
  const empty = { ...rowsOf(table, 0, 0), traceIds: [] };
  return {
    ...input,
    table: empty,
    spilled: rows.parts(empty, table.traceIds.length, (trace) => table.traceIds[trace]),
  };
}

function rowsOf(table: SpanTable, from: number, to: number): Rows {
  const column = (name: (typeof U32_COLUMNS)[number] | (typeof U8_COLUMNS)[number]) => [
    name,
    table[name].subarray(from, to),
  ];
  const own = <T>(all: ReadonlyMap<number, T>): Map<number, T> =>
    new Map([...all].filter(([row]) => row >= from && row < to).map(([row, value]) => [row - from, value]));
  return {
    ...table,
    ...Object.fromEntries([...U32_COLUMNS, ...U8_COLUMNS].map(column)),
    length: to - from,
    attributeShape: table.attributeShape.subarray(from, to),
    attributeOffset: table.attributeOffset.subarray(from, to + 1),
    attributeRest: table.attributeRest.subarray(from, to),
    links: own(table.links),
    events: own(table.events),
  };
}

function hashOf(id: string): number {
  let hash = 7;
  for (const letter of id) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  return hash;
}

/** @returns a table whose columns other threads can read. */
export function inSharedMemory(table: SpanTable): SpanTable {
  const shared = Object.entries(table).map(([name, column]) => [
    name,
    column instanceof Uint32Array || column instanceof Uint8Array || column instanceof Float64Array
      ? sharedCopy(column)
      : column,
  ]);
  return Object.fromEntries(shared) as SpanTable;
}
