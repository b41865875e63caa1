import { readSync } from 'node:fs';
import type { Collector } from './collector.ts';
import { readProtoRequest } from './proto-records.ts';

/** A range with a record larger than this is left to the reader of the whole file. */
const MAX_RANGE_BYTES = 32 << 20;

/** Reads length-prefixed records of a file into a buffer that is used again and again. */
export class RecordRangeReader {
  #bytes = Buffer.alloc(0);

  /**
   * Reads the records from..to, whose ends are known to be right. @returns where the first record begins that could not
   * be read, else `to`; and how many were.
   */
  read(
    file: number,
    { from, to, first }: { readonly from: number; readonly to: number; readonly first: number },
    collector: Collector,
  ): { readonly end: number; readonly values: number } {
    const size = to - from;
    if (size > MAX_RANGE_BYTES) return { end: from, values: 0 };
    if (this.#bytes.length < size) this.#bytes = Buffer.allocUnsafeSlow(size);
    const bytes = this.#bytes;
    let length = 0;
    let values = 0;
    for (let at = 0; at < size; values++) {
      const start = at + 4;
      while (length < size && (length < start || length < start + bytes.readUInt32BE(at))) {
        const read = readSync(file, bytes, length, Math.min(READ_BYTES, size - length), from + length);
        if (read === 0) return { end: from + at, values };
        length += read;
      }
      const end = start + bytes.readUInt32BE(at);
      const message = bytes.subarray(start, end);
      const position = { record: first + values, offset: from + at };
      if (collector.attempt(() => readProtoRequest(message, collector, position)) !== null)
        return { end: from + at, values };
      at = end;
    }
    return { end: to, values };
  }
}

const READ_BYTES = 1 << 20;
