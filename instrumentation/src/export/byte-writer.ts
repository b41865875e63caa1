const INITIAL = 64 * 1024;
/** A buffer that one burst has made larger than this is not kept. */
const MAX_KEPT = 1024 * 1024;
/** One is filled, one is on its way, one is to spare. */
const MAX_SPARES = 2;

/**
 * Buffers that come back. Memory outside the heap counts for the garbage collector: a new buffer for each batch makes it
 * look through the whole heap several times a second.
 */
export class SpareBuffers {
  readonly #spares: Buffer<ArrayBuffer>[] = [];

  /** @param length how much there will be to write, as far as one knows. */
  take(length: number): Buffer<ArrayBuffer> {
    return this.#spares.pop() ?? Buffer.allocUnsafeSlow(Math.max(INITIAL, Math.min(length, MAX_KEPT)));
  }

  /** Takes back what {@link ByteWriter.handOver} has given away, once nobody reads it any more. */
  giveBack(bytes: Buffer<ArrayBuffer>): void {
    const { byteLength } = bytes.buffer;
    if (this.#spares.length < MAX_SPARES && byteLength <= MAX_KEPT)
      this.#spares.push(Buffer.from(bytes.buffer));
  }
}

/** Writes bytes one after the other into one growing buffer. */
export class ByteWriter {
  protected buffer = Buffer.allocUnsafeSlow(INITIAL);
  protected at = 0;

  get length(): number {
    return this.at;
  }

  /** @returns a copy of what was written; the writer is empty afterwards. */
  take(): Buffer {
    const bytes = Buffer.from(this.buffer.subarray(0, this.at));
    this.at = 0;
    if (this.buffer.length > MAX_KEPT) this.buffer = Buffer.allocUnsafeSlow(INITIAL);
    return bytes;
  }

  /**
   * @param next where to go on.
   * @returns what was written, without a copy: the buffer is the caller's from here on.
   */
  handOver(next: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
    const bytes = this.buffer.subarray(0, this.at);
    this.at = 0;
    this.buffer = next;
    return bytes;
  }

  /** Forgets what was written after a position. */
  truncate(length: number): void {
    this.at = length;
  }

  bytes(bytes: Uint8Array): void {
    const { length } = bytes;
    this.reserve(length);
    const { buffer, at } = this;
    // Short pieces are copied by hand: a call into the runtime costs more.
    if (length < 48) for (let i = 0; i < length; i++) buffer[at + i] = bytes[i];
    else buffer.set(bytes, at);
    this.at = at + length;
  }

  /** Plain ASCII of our own. */
  ascii(text: string): void {
    const { length } = text;
    this.reserve(length);
    const { buffer, at } = this;
    if (length < 64) for (let i = 0; i < length; i++) buffer[at + i] = text.charCodeAt(i);
    else buffer.write(text, at, 'latin1');
    this.at = at + length;
  }

  protected reserve(bytes: number): void {
    if (this.at + bytes > this.buffer.length) this.#grow(bytes);
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.at + bytes));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }
}
