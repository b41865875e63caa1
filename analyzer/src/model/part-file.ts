import { readSync } from 'node:fs';
import { type Block, bytesOf, columnsIn, putExtra, sizeOf } from './row-block.ts';
import { readerOfTexts, type SharedTexts, shareTexts } from './shared-memory.ts';
import type { SharedParts } from './shared-parts.ts';
import { openTable, type SharedTable, shareTable } from './shared-table.ts';
import type { SpanEvent, SpanLink } from './span.ts';
import { TYPE } from './span-codes.ts';
import { U8_COLUMNS, U32_COLUMNS } from './span-columns.ts';
import type { SpanTable } from './span-table.ts';
import type { TableParts } from './table-parts.ts';

/** Parts in a file, as they are handed to another thread of the process. */
export interface SharedPartFile {
  /** Its descriptor. */
  readonly file: number;
  readonly blocks: readonly (readonly Block[])[];
  readonly common: SharedTable;
  readonly traceIds: SharedTexts;
}

/** Reads the parts of an input from the blocks of a file. */
export class PartFile implements TableParts {
  readonly common: SpanTable;
  readonly traceId: (trace: number) => string;
  readonly close: () => void;
  readonly #file: number;
  readonly #blocks: readonly (readonly Block[])[];
  readonly #traces: number;
  #buffer = new ArrayBuffer(1 << 16);
  /** One room for all parts: memory given back is not at once there again. */
  readonly #room: ArrayBuffer;

  /**
   * @param file its descriptor
   * @param blocks by part
   * @param common a table without rows
   * @param traces how many there are, by the numbers of the rows
   */
  constructor(
    file: number,
    blocks: readonly (readonly Block[])[],
    common: SpanTable,
    traces: number,
    traceId: (trace: number) => string,
    close: () => void = () => {},
  ) {
    this.#file = file;
    this.#blocks = blocks;
    this.common = common;
    this.#traces = traces;
    this.traceId = traceId;
    this.close = close;
    this.#room = new ArrayBuffer(Math.max(0, ...blocks.map((own) => bytesOf(sizeOf(own)))));
  }

  static open({ file, blocks, common, traceIds }: SharedPartFile): PartFile {
    const { offset } = traceIds;
    return new PartFile(file, blocks, openTable(common), offset.length - 1, readerOfTexts(traceIds));
  }

  share(): SharedParts {
    return {
      file: {
        file: this.#file,
        blocks: this.#blocks,
        common: shareTable(this.common),
        traceIds: shareTexts(this.#traces, this.traceId),
      },
    };
  }

  get count(): number {
    return this.#blocks.length;
  }

  get rows(): number {
    return sizeOf(this.#blocks.flat()).rows;
  }

  rowsOf(part: number): number {
    return sizeOf(this.#blocks[part]).rows;
  }

  load(part: number): SpanTable {
    return this.#load(this.#blocks[part], this.#room);
  }

  whole(): SpanTable {
    const all = this.#blocks.flat();
    return this.#load(all, new ArrayBuffer(bytesOf(sizeOf(all))));
  }

  #load(blocks: readonly Block[], room: ArrayBuffer): SpanTable {
    const { rows, values, numbers } = sizeOf(blocks);
    const columns = columnsIn(room, rows, values, numbers);
    const { common, traceId } = this;
    const shapes = common.attributeShapes;
    const table = {
      ...common,
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
      const columns = columnsIn(this.#read(block), block.rows, block.values, block.numbers);
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
        putExtra(new Uint8Array(this.#buffer, block.bytes - block.extraBytes, block.extraBytes), row, table);
      }
      row += block.rows;
      value += block.values;
      number += block.numbers;
    }
    return { ...table, traceIds: renumber(table.trace, traceId) };
  }

  #read({ offset, bytes }: Block): ArrayBuffer {
    if (this.#buffer.byteLength < bytes) this.#buffer = new ArrayBuffer(Math.ceil(bytes * 1.25));
    const all = new Uint8Array(this.#buffer, 0, bytes);
    for (let done = 0; done < bytes; ) {
      const read = readSync(this.#file, all, done, bytes - done, offset + done);
      if (read === 0) throw new Error('the file of spilled spans ends too early');
      done += read;
    }
    return this.#buffer;
  }
}

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
