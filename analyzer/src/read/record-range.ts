import { readSync } from 'node:fs';
import type { Collector } from './collector.ts';
import { readProtoRequest } from './proto-records.ts';

const READ_BYTES = 1 << 20;
/** A record larger than this is left to the reader of the whole file. */
const MAX_BYTES = 32 << 20;

/** Reads length-prefixed records of a file into a buffer that is used again and again. */
export class RecordRangeReader {
  #bytes = Buffer.allocUnsafeSlow(READ_BYTES);
  /** What is not read yet stands in #at..#end of the buffer; its first byte stands at #base in the file. */
  #base = 0;
  #at = 0;
  #end = 0;

  /**
   * Reads the records from..to, whose ends are known to be right. @returns where the first record begins that could not
   * be read, else `to`; and how many were.
   */
  read(
    file: number,
    { from, to, first }: { readonly from: number; readonly to: number; readonly first: number },
    collector: Collector,
  ): { readonly end: number; readonly values: number } {
    this.#base = from;
    this.#at = 0;
    this.#end = 0;
    let values = 0;
    for (;;) {
      const offset = this.#base + this.#at;
      if (offset === to || !this.#has(4, file, to)) return { end: offset, values };
      const size = 4 + this.#bytes.readUInt32BE(this.#at);
      if (!this.#has(size, file, to)) return { end: offset, values };
      const message = this.#bytes.subarray(this.#at + 4, this.#at + size);
      const position = { record: first + values, offset };
      if (collector.attempt(() => readProtoRequest(message, collector, position)) !== null)
        return { end: offset, values };
      this.#at += size;
      values++;
    }
  }

  /** Has so many bytes at hand. @returns false where the file ends before, or they are too many. */
  #has(needed: number, file: number, to: number): boolean {
    if (needed > MAX_BYTES) return false;
    while (this.#end - this.#at < needed) {
      this.#makeRoom(needed);
      const wanted = Math.min(this.#bytes.length - this.#end, to - this.#base - this.#end);
      const read = readSync(file, this.#bytes, this.#end, wanted, this.#base + this.#end);
      if (read === 0) return false;
      this.#end += read;
    }
    return true;
  }

  /** Moves what is not read yet to the beginning of a buffer that holds `needed` bytes. */
  #makeRoom(needed: number): void {
    const kept = this.#bytes.subarray(this.#at, this.#end);
    if (needed > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(needed);
    this.#bytes.set(kept);
    this.#base += this.#at;
    this.#end -= this.#at;
    this.#at = 0;
  }
}
