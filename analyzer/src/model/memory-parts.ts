import { isShared, readerOfTexts, type SharedTexts, sharedCopy, shareTexts } from './shared-memory.ts';
import type { SharedParts } from './shared-parts.ts';
import { openTable, type SharedTable, shareTable } from './shared-table.ts';
import type { SpanEvent, SpanLink } from './span.ts';
import { U8_COLUMNS, U32_COLUMNS } from './span-columns.ts';
import type { SpanTable } from './span-table.ts';
import type { TableParts } from './table-parts.ts';

/** A part of so many rows is worked on in the caches of a processor. */
const ROWS = 1 << 12;
const FIRST_SHARE = 4;

/** Which traces and rows each part has. */
interface Cut {
  /** Part p has the traces firstTrace[p] .. firstTrace[p + 1]. */
  readonly firstTrace: Int32Array;
  /** Rows of part p are order[firstRow[p]] .. order[firstRow[p + 1]]; where there is no order, these rows themselves. */
  readonly firstRow: Int32Array;
  readonly order: Int32Array | null;
}

/** A table in parts, as it is handed to another thread of the process: its columns are not copied. */
export interface SharedMemoryParts extends Pick<SpanTable, 'links' | 'events'> {
  readonly table: SharedTable;
  readonly cut: Cut;
  readonly traceIds: SharedTexts;
}

/**
 * @param rows of a part, about; the first one has fewer, for it is looked at twice
 * @returns a table in parts: traces that came together are together
 */
export function memoryParts(table: SpanTable, rows = ROWS): TableParts {
  const { traceIds } = table;
  return new MemoryParts(table, cutTable(table, rows), (from, to) => traceIds.slice(from, to));
}

/** @returns the parts of another thread's table. */
export function openMemoryParts({ table, cut, traceIds, links, events }: SharedMemoryParts): TableParts {
  const textOf = readerOfTexts(traceIds);
  return new MemoryParts({ ...openTable(table), links, events }, cut, (from, to) =>
    Array.from({ length: to - from }, (_, i) => textOf(from + i)),
  );
}

class MemoryParts implements TableParts {
  readonly common: SpanTable;
  readonly #cut: Cut;
  readonly #traceIds: (from: number, to: number) => readonly string[];

  /** @param traceIds those of the traces from one number up to another */
  constructor(table: SpanTable, cut: Cut, traceIds: (from: number, to: number) => readonly string[]) {
    this.common = table;
    this.#cut = cut;
    this.#traceIds = traceIds;
  }

  get count(): number {
    return this.#cut.firstTrace.length - 1;
  }

  get rows(): number {
    return this.common.length;
  }

  rowsOf(part: number): number {
    const { firstRow } = this.#cut;
    return firstRow[part + 1] - firstRow[part];
  }

  load(part: number): SpanTable {
    const table = this.common;
    const { firstTrace, firstRow, order } = this.#cut;
    const [from, to] = [firstRow[part], firstRow[part + 1]];
    const own = order === null ? rowsBetween(table, from, to) : rowsOf(table, order.subarray(from, to));
    const first = firstTrace[part];
    const trace = new Uint32Array(own.length);
    for (let row = 0; row < trace.length; row++) trace[row] = own.trace[row] - first;
    return { ...own, trace, traceIds: this.#traceIds(first, firstTrace[part + 1]) };
  }

  whole(): SpanTable {
    return this.common;
  }

  /** Only where the reader has put the columns into memory that others can read: a copy would cost more than it gains. */
  share(): SharedParts | null {
    const table = this.common;
    if (!isShared(table.trace)) return null;
    const { firstTrace, firstRow, order } = this.#cut;
    const { links, events, traceIds } = table;
    return {
      memory: {
        table: shareTable(table),
        cut: {
          firstTrace: sharedCopy(firstTrace),
          firstRow: sharedCopy(firstRow),
          order: order && sharedCopy(order),
        },
        traceIds: shareTexts(traceIds.length, (i) => traceIds[i]),
        links,
        events,
      },
    };
  }

  close(): void {}
}

function cutTable({ length, trace, traceIds }: SpanTable, rows: number): Cut {
  const ofTrace = new Int32Array(traceIds.length);
  for (let row = 0; row < length; row++) ofTrace[trace[row]]++;
  const partOf = new Int32Array(traceIds.length);
  const firstTrace = [0];
  const firstRow = [0];
  let own = 0;
  let before = 0;
  for (let t = 0; t < traceIds.length; t++) {
    if (own >= (firstTrace.length === 1 ? rows / FIRST_SHARE : rows)) {
      firstTrace.push(t);
      firstRow.push((before += own));
      own = 0;
    }
    own += ofTrace[t];
    partOf[t] = firstTrace.length - 1;
  }
  if (traceIds.length > 0) {
    firstTrace.push(traceIds.length);
    firstRow.push(before + own);
  }
  return {
    firstTrace: Int32Array.from(firstTrace),
    firstRow: Int32Array.from(firstRow),
    order: orderOf(trace, length, partOf, firstRow),
  };
}

/** @returns the rows by part; null where they stand like that. */
function orderOf(
  trace: Uint32Array,
  length: number,
  partOf: Int32Array,
  firstRow: readonly number[],
): Int32Array | null {
  let last = 0;
  let isOrdered = true;
  for (let row = 0; row < length && isOrdered; row++) {
    const part = partOf[trace[row]];
    isOrdered = part >= last;
    last = part;
  }
  if (isOrdered) return null;
  const order = new Int32Array(length);
  const next = Int32Array.from(firstRow);
  for (let row = 0; row < length; row++) order[next[partOf[trace[row]]]++] = row;
  return order;
}

/** Rows side by side, without a copy. */
function rowsBetween(table: SpanTable, from: number, to: number): SpanTable {
  const columns = Object.fromEntries(
    [...U32_COLUMNS, ...U8_COLUMNS].map((name) => [name, table[name].subarray(from, to)]),
  );
  return {
    ...table,
    ...columns,
    length: to - from,
    attributeShape: table.attributeShape.subarray(from, to),
    attributeOffset: table.attributeOffset.subarray(from, to + 1),
    attributeRest: table.attributeRest.subarray(from, to),
    links: ownOf(table.links, to - from, (i) => from + i),
    events: ownOf(table.events, to - from, (i) => from + i),
  };
}

/** Rows from anywhere, copied; what their attributes are is not. */
function rowsOf(table: SpanTable, rows: Int32Array): SpanTable {
  const picked = <T extends Uint32Array | Uint8Array>(column: T, into: T): T => {
    for (let i = 0; i < rows.length; i++) into[i] = column[rows[i]];
    return into;
  };
  const words = (column: Uint32Array) => picked(column, new Uint32Array(rows.length));
  return {
    ...table,
    ...Object.fromEntries(U32_COLUMNS.map((name) => [name, words(table[name])])),
    ...Object.fromEntries(U8_COLUMNS.map((name) => [name, picked(table[name], new Uint8Array(rows.length))])),
    length: rows.length,
    attributeShape: words(table.attributeShape),
    attributeOffset: words(table.attributeOffset),
    attributeRest: words(table.attributeRest),
    links: ownOf(table.links, rows.length, (i) => rows[i]),
    events: ownOf(table.events, rows.length, (i) => rows[i]),
  };
}

function ownOf<T extends readonly SpanLink[] | readonly SpanEvent[]>(
  all: ReadonlyMap<number, T>,
  length: number,
  rowAt: (i: number) => number,
): ReadonlyMap<number, T> {
  if (all.size === 0) return all;
  const own = new Map<number, T>();
  for (let i = 0; i < length; i++) {
    const found = all.get(rowAt(i));
    if (found !== undefined) own.set(i, found);
  }
  return own;
}
