import {
  closeSync,
  mkdtempSync,
  openSync,
  readSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { SpanEvent, SpanLink } from './span.ts';
import { TYPE } from './span-codes.ts';
import { U8_COLUMNS, U32_COLUMNS } from './span-columns.ts';
import type { SpanTable } from './span-table.ts';
import type { TableParts } from './table-parts.ts';

/** Spans that do not fit into memory cannot be written to a file either. */
export class NoRoomForSpans extends Error {
  constructor(directory: string, why: unknown) {
    super(`spans cannot be written to a file in ${directory}: ${(why as Error).message}`);
    this.name = 'NoRoomForSpans';
  }
}

/** The rows of a table, whose texts, traces, shapes, resources and scopes are kept elsewhere. */
export type Rows = Omit<SpanTable, 'traceIds'>;

/** What the rows of a finished input share, and its trace ids by the numbers of the rows. */
export interface Shared {
  /** A table without rows. */
  readonly empty: SpanTable;
  readonly traceId: (trace: number) => string;
}

/** Where a block of rows of one part stands in the file. */
interface Block {
  readonly offset: number;
  readonly bytes: number;
  readonly rows: number;
  readonly values: number;
  readonly numbers: number;
  /** Serialized links and events; 0: none of its rows has any. */
  readonly extraBytes: number;
}

/** What few rows have, by row of their block. */
interface Extra {
  readonly links: (readonly [number, readonly SpanLink[]])[];
  readonly events: (readonly [number, readonly SpanEvent[]])[];
}

/** Columns of a block, each as long as it has rows, before the values of its attributes. */
const WORDS_PER_ROW = U32_COLUMNS.length + 2;

/**
 * Rows of a table in a file, in parts: all rows of a trace are in the same one. The file has no name once it is open, so
 * that nothing is left of it however the process ends.
 */
export class SpilledRows {
  readonly #hashOf: (trace: number) => number;
  readonly #blocks: Block[][];
  readonly #directory: string;
  readonly #path: string;
  readonly #file: number;
  #bytes = 0;
  #buffer = new ArrayBuffer(1 << 16);

  /**
   * @param parts how many
   * @param hashOf a hash of the id of a trace
   */
  constructor(parts: number, hashOf: (trace: number) => number, directory = tmpdir()) {
    this.#hashOf = hashOf;
    this.#blocks = Array.from({ length: parts }, () => []);
    this.#directory = directory;
    try {
      this.#path = mkdtempSync(join(directory, 'waitfall-'));
      this.#file = openWithoutName(this.#path);
    } catch (error) {
      throw new NoRoomForSpans(directory, error);
    }
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Writes rows down. @throws {@link NoRoomForSpans} */
  write(rows: Rows): void {
    const { order, offset } = byPart(rows, this.#hashOf, this.#blocks.length);
    for (let part = 0; part < this.#blocks.length; part++) {
      if (offset[part] < offset[part + 1])
        this.#writeBlock(part, rows, order.subarray(offset[part], offset[part + 1]));
    }
  }

  /** @returns the tables of the parts. Nothing may be written any more. */
  parts(shared: Shared): TableParts {
    const all = this.#blocks.flat();
    // One room for all parts: memory given back is not at once there again.
    const room = new ArrayBuffer(Math.max(0, ...this.#blocks.map((blocks) => bytesOf(sizeOf(blocks)))));
    return {
      count: this.#blocks.length,
      rows: sizeOf(all).rows,
      load: (part) => this.#load(this.#blocks[part], shared, room),
      whole: () => this.#load(all, shared, new ArrayBuffer(bytesOf(sizeOf(all)))),
      close: () => this.close(),
    };
  }

  close(): void {
    closeSync(this.#file);
    rmSync(this.#path, { recursive: true, force: true });
  }

  #writeBlock(part: number, rows: Rows, members: Int32Array): void {
    const n = members.length;
    const { attributeShapes, attributeShape, attributeOffset, attributeData } = rows;
    let values = 0;
    let numbers = 0;
    for (const row of members) {
      const from = attributeShapes.offset[attributeShape[row]];
      const to = attributeShapes.offset[attributeShape[row] + 1];
      values += to - from;
      for (let i = from; i < to; i++) if (attributeShapes.type[i] === TYPE.number) numbers++;
    }
    const extra = extraOf(rows, members);
    const bytes = bytesOf({ rows: n, values, numbers }) + extra.length;
    const columns = this.#columns(n, values, numbers, bytes);
    for (const name of U32_COLUMNS) {
      const column = rows[name];
      const target = columns.u32[name];
      for (let i = 0; i < n; i++) target[i] = column[members[i]];
    }
    for (const name of U8_COLUMNS) {
      const column = rows[name];
      const target = columns.u8[name];
      for (let i = 0; i < n; i++) target[i] = column[members[i]];
    }
    let value = 0;
    let number = 0;
    for (let i = 0; i < n; i++) {
      const row = members[i];
      const shape = attributeShape[row];
      columns.shape[i] = shape;
      columns.rest[i] = rows.attributeRest[row];
      let at = attributeOffset[row];
      for (let entry = attributeShapes.offset[shape]; entry < attributeShapes.offset[shape + 1]; entry++) {
        const data = attributeData[at++];
        if (attributeShapes.type[entry] === TYPE.number) {
          columns.numbers[number] = rows.numbers[data];
          columns.data[value++] = number++;
        } else columns.data[value++] = data;
      }
    }
    new Uint8Array(this.#buffer).set(extra, bytes - extra.length);
    this.#write(bytes);
    this.#blocks[part].push({
      offset: this.#bytes,
      bytes,
      rows: n,
      values,
      numbers,
      extraBytes: extra.length,
    });
    this.#bytes += bytes;
  }

  #write(bytes: number): void {
    const all = new Uint8Array(this.#buffer, 0, bytes);
    try {
      for (let done = 0; done < bytes; ) {
        done += writeSync(this.#file, all, done, bytes - done, this.#bytes + done);
      }
    } catch (error) {
      throw new NoRoomForSpans(this.#directory, error);
    }
  }

  #load(blocks: readonly Block[], { empty, traceId }: Shared, room: ArrayBuffer): SpanTable {
    const { rows, values, numbers } = sizeOf(blocks);
    const columns = columnsIn(room, rows, values, numbers);
    const shapes = empty.attributeShapes;
    const table = {
      ...empty,
      ...columns.u32,
      ...columns.u8,
      length: rows,
      attributeShape: columns.shape,
      attributeOffset: new Uint32Array(rows + 1),
      attributeRest: columns.rest,
      attributeData: columns.data,
      numbers: columns.numbers,
      links: new Map<number, readonly SpanLink[]>(),
      events: new Map<number, readonly SpanEvent[]>(),
    };
    let row = 0;
    let value = 0;
    let number = 0;
    for (const block of blocks) {
      const columns = this.#columns(block.rows, block.values, block.numbers, block.bytes);
      this.#read(block);
      for (const name of U32_COLUMNS) table[name].set(columns.u32[name], row);
      for (const name of U8_COLUMNS) table[name].set(columns.u8[name], row);
      table.attributeShape.set(columns.shape, row);
      table.attributeRest.set(columns.rest, row);
      table.numbers.set(columns.numbers, number);
      let at = 0;
      for (let i = 0; i < block.rows; i++) {
        const shape = columns.shape[i];
        for (let entry = shapes.offset[shape]; entry < shapes.offset[shape + 1]; entry++, at++) {
          const data = columns.data[at];
          table.attributeData[value + at] = shapes.type[entry] === TYPE.number ? number + data : data;
        }
        table.attributeOffset[row + i + 1] = value + at;
      }
      if (block.extraBytes > 0) {
        const extra = new Uint8Array(this.#buffer, block.bytes - block.extraBytes, block.extraBytes);
        const { links, events } = deserialize(extra) as Extra;
        for (const [i, own] of links) table.links.set(row + i, own);
        for (const [i, own] of events) table.events.set(row + i, own);
      }
      row += block.rows;
      value += block.values;
      number += block.numbers;
    }
    return { ...table, traceIds: renumber(table.trace, traceId) };
  }

  #read({ offset, bytes }: Block): void {
    const all = new Uint8Array(this.#buffer, 0, bytes);
    for (let done = 0; done < bytes; ) {
      const read = readSync(this.#file, all, done, bytes - done, offset + done);
      if (read === 0) throw new Error('the file of spilled spans ends too early');
      done += read;
    }
  }

  /** Views into the buffer, which is made large enough. */
  #columns(rows: number, values: number, numbers: number, bytes: number): Columns {
    if (this.#buffer.byteLength < bytes) this.#buffer = new ArrayBuffer(Math.ceil(bytes * 1.25));
    return columnsIn(this.#buffer, rows, values, numbers);
  }
}

interface Columns {
  readonly u32: Record<(typeof U32_COLUMNS)[number], Uint32Array>;
  readonly u8: Record<(typeof U8_COLUMNS)[number], Uint8Array>;
  readonly shape: Uint32Array;
  readonly rest: Uint32Array;
  readonly data: Uint32Array;
  readonly numbers: Float64Array;
}

/** Columns side by side in a buffer: numbers of 8 bytes first, of one byte last. */
function columnsIn(buffer: ArrayBuffer, rows: number, values: number, numbers: number): Columns {
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
  const u32 = Object.fromEntries(U32_COLUMNS.map((name) => [name, words(rows)])) as Columns['u32'];
  const [shape, rest, data] = [words(rows), words(rows), words(values)];
  const u8 = Object.fromEntries(U8_COLUMNS.map((name) => [name, bytes(rows)])) as Columns['u8'];
  return { numbers: doubles, u32, shape, rest, data, u8 };
}

type Size = Pick<Block, 'rows' | 'values' | 'numbers'>;

function sizeOf(blocks: readonly Block[]): Size {
  const size = { rows: 0, values: 0, numbers: 0 };
  for (const { rows, values, numbers } of blocks) {
    size.rows += rows;
    size.values += values;
    size.numbers += numbers;
  }
  return size;
}

function bytesOf({ rows, values, numbers }: Size): number {
  return numbers * 8 + (rows * WORDS_PER_ROW + values) * 4 + rows * U8_COLUMNS.length;
}

/** @returns rows by their part: those of part p are order[offset[p]] and on, in their order. */
function byPart(
  { length, trace }: Rows,
  hashOf: (trace: number) => number,
  parts: number,
): { order: Int32Array; offset: Int32Array } {
  const part = new Uint16Array(length);
  const offset = new Int32Array(parts + 1);
  for (let row = 0; row < length; row++) {
    part[row] = (hashOf(trace[row]) >>> 0) % parts;
    offset[part[row] + 1]++;
  }
  for (let p = 0; p < parts; p++) offset[p + 1] += offset[p];
  const next = offset.slice();
  const order = new Int32Array(length);
  for (let row = 0; row < length; row++) order[next[part[row]]++] = row;
  return { order, offset };
}

function extraOf({ links, events }: Rows, members: Int32Array): Uint8Array {
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

/** Numbers the traces of a part in order of appearance. @returns their ids. */
function renumber(trace: Uint32Array, traceId: (trace: number) => string): string[] {
  const numbers = new Map<number, number>();
  const ids: string[] = [];
  for (let row = 0; row < trace.length; row++) {
    let own = numbers.get(trace[row]);
    if (own === undefined) {
      own = ids.push(traceId(trace[row])) - 1;
      numbers.set(trace[row], own);
    }
    trace[row] = own;
  }
  return ids;
}

/** A file that is gone when it is closed, or at the latest with the process. */
function openWithoutName(directory: string): number {
  const path = join(directory, 'spans');
  const file = openSync(path, 'wx+', 0o600);
  try {
    unlinkSync(path);
    rmdirSync(directory);
  } catch {
    // Where an open file cannot lose its name.
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  }
  return file;
}
