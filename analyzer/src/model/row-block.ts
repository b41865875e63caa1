import { deserialize, serialize } from 'node:v8';
import type { SpanEvent, SpanLink } from './span.ts';
import { U8_COLUMNS, U32_COLUMNS } from './span-columns.ts';
import type { SpanTable } from './span-table.ts';

/** Where a block of rows of one part stands in the file. */
export interface Block {
  readonly offset: number;
  readonly bytes: number;
  readonly rows: number;
  readonly values: number;
  readonly numbers: number;
  /** Serialized links and events; 0: none of its rows has any. */
  readonly extraBytes: number;
}

/** What few rows have, by row of their block. */
export interface Extra {
  readonly links: (readonly [number, readonly SpanLink[]])[];
  readonly events: (readonly [number, readonly SpanEvent[]])[];
}

/** Columns of a block, each as long as it has rows, before the values of its attributes. */
const WORDS_PER_ROW = U32_COLUMNS.length + 2;

export interface BlockColumns {
  readonly u32: Record<(typeof U32_COLUMNS)[number], Uint32Array>;
  readonly u8: Record<(typeof U8_COLUMNS)[number], Uint8Array>;
  readonly shape: Uint32Array;
  readonly rest: Uint32Array;
  readonly data: Uint32Array;
  readonly numbers: Float64Array;
}

/** Columns side by side in a buffer: numbers of 8 bytes first, of one byte last. */
export function columnsIn(buffer: ArrayBuffer, rows: number, values: number, numbers: number): BlockColumns {
  const doubles = new Float64Array(buffer, 0, numbers);
  let at = numbers * 8;
  const words = (length: number): Uint32Array => {
    const column = new Uint32Array(buffer, at, length);
    at += length * 4;
    return column;
  };
  const bytes = (length: number): Uint8Array => {
    const column = new Uint8Array(buffer, at, length);
    at += length;
    return column;
  };
  const u32 = Object.fromEntries(U32_COLUMNS.map((name) => [name, words(rows)])) as BlockColumns['u32'];
  const [shape, rest, data] = [words(rows), words(rows), words(values)];
  const u8 = Object.fromEntries(U8_COLUMNS.map((name) => [name, bytes(rows)])) as BlockColumns['u8'];
  return { numbers: doubles, u32, shape, rest, data, u8 };
}

export type Size = Pick<Block, 'rows' | 'values' | 'numbers'>;

export function sizeOf(blocks: readonly Block[]): Size {
  const size = { rows: 0, values: 0, numbers: 0 };
  for (const { rows, values, numbers } of blocks) {
    size.rows += rows;
    size.values += values;
    size.numbers += numbers;
  }
  return size;
}

export function bytesOf({ rows, values, numbers }: Size): number {
  return numbers * 8 + (rows * WORDS_PER_ROW + values) * 4 + rows * U8_COLUMNS.length;
}

/** @returns links and events of rows, serialized; of no length where there are none. */
export function extraOf(
  { links, events }: Pick<SpanTable, 'links' | 'events'>,
  members: Int32Array,
): Uint8Array {
  if (links.size === 0 && events.size === 0) return NOTHING;
  const extra: Extra = { links: [], events: [] };
  members.forEach((row, i) => {
    const own = links.get(row);
    if (own !== undefined) extra.links.push([i, own]);
    const happened = events.get(row);
    if (happened !== undefined) extra.events.push([i, happened]);
  });
  return extra.links.length > 0 || extra.events.length > 0 ? serialize(extra) : NOTHING;
}

const NOTHING = new Uint8Array(0);

/** Adds links and events from {@link extraOf} to the rows from `row` on. */
export function putExtra(
  extra: Uint8Array,
  row: number,
  into: { links: Map<number, readonly SpanLink[]>; events: Map<number, readonly SpanEvent[]> },
): void {
  if (extra.length === 0) return;
  const { links, events } = deserialize(extra) as Extra;
  for (const [i, own] of links) into.links.set(row + i, own);
  for (const [i, own] of events) into.events.set(row + i, own);
}
