import type { Bytes } from './bytes.ts';

const SMALLEST = 1 << 16;

/**
 * Bytes of a source on demand, in one buffer that is used again and again: what was taken holds until more is needed.
 */
export class RecordBuffer {
  readonly #chunks: AsyncIterator<Buffer>;
  #bytes = Buffer.allocUnsafeSlow(SMALLEST);
  #start = 0;
  #end = 0;
  #ended = false;
  /** Where in the file the next byte stands. */
  offset: number;

  /** @param offset where the first byte of the source stands. */
  constructor(source: Bytes, offset = 0) {
    this.offset = offset;
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Bytes at hand without waiting. */
  get ready(): number {
    return this.#end - this.#start;
  }

  /** @returns false when fewer bytes are left in the whole source. */
  async need(bytes: number): Promise<boolean> {
    while (this.ready < bytes && !this.#ended) {
      const next = await this.#chunks.next();
      if (next.done) this.#ended = true;
      else this.#append(next.value);
    }
    return this.ready >= bytes;
  }

  /** @returns the next bytes, which must be at hand. */
  take(bytes: number): Buffer {
    const from = this.#start;
    this.#start += bytes;
    this.offset += bytes;
    return this.#bytes.subarray(from, this.#start);
  }

  #append(chunk: Uint8Array): void {
    const kept = this.ready;
    if (this.#end + chunk.length > this.#bytes.length) {
      const isLarge = kept + chunk.length > this.#bytes.length / 2;
      const size = isLarge ? Math.max(this.#bytes.length * 2, kept + chunk.length) : this.#bytes.length;
      const target = isLarge ? Buffer.allocUnsafeSlow(size) : this.#bytes;
      this.#bytes.copy(target, 0, this.#start, this.#end);
      this.#bytes = target;
      this.#start = 0;
      this.#end = kept;
    }
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }
}
