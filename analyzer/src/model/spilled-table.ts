import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PartFile } from './part-file.ts';
import { type Block, type BlockColumns, bytesOf, columnsIn, extraOf } from './row-block.ts';
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

  /**
   * @param common a table without rows
   * @param traces how many there are, by the numbers of the rows
   * @returns the tables of the parts. Nothing may be written any more.
   */
  parts(common: SpanTable, traces: number, traceId: (trace: number) => string): TableParts {
    return new PartFile(this.#file, this.#blocks, common, traces, traceId, () => this.close());
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

  /** Views into the buffer, which is made large enough. */
  #columns(rows: number, values: number, numbers: number, bytes: number): BlockColumns {
    if (this.#buffer.byteLength < bytes) this.#buffer = new ArrayBuffer(Math.ceil(bytes * 1.25));
    return columnsIn(this.#buffer, rows, values, numbers);
  }
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
