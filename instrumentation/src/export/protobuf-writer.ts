const INITIAL = 64 * 1024;

/** Wire types of https://protobuf.dev/programming-guides/encoding/ */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;
/** Lengths are written after their content, in a place of three bytes: up to 2 MiB a message. */
const LENGTH_BYTES = 3;
const MAX_MESSAGE = 2 ** (7 * LENGTH_BYTES) - 1;

/** Writes protobuf into one growing buffer, without an object per message. */
export class ProtobufWriter {
  #buffer = Buffer.allocUnsafe(INITIAL);
  #at = 0;

  get length(): number {
    return this.#at;
  }

  /** @returns a copy of what was written; the writer is empty afterwards. */
  take(): Buffer {
    const bytes = Buffer.from(this.#buffer.subarray(0, this.#at));
    this.#at = 0;
    return bytes;
  }

  clear(): void {
    this.#at = 0;
  }

  /** Opens an embedded message. @returns what {@link close} needs. */
  open(field: number): number {
    this.#reserve(16);
    this.#varint((field << 3) | LENGTH);
    this.#at += LENGTH_BYTES;
    return this.#at;
  }

  close(start: number): void {
    const length = this.#at - start;
    if (length > MAX_MESSAGE) throw new RangeError(`a message of ${length} bytes is too long to encode`);
    this.#buffer[start - 3] = (length & 0x7f) | 0x80;
    this.#buffer[start - 2] = ((length >>> 7) & 0x7f) | 0x80;
    this.#buffer[start - 1] = length >>> 14;
  }

  varint(field: number, value: number): void {
    this.#reserve(20);
    this.#varint((field << 3) | VARINT);
    if (value >= 0) this.#varint(value);
    else this.#negative(BigInt(value));
  }

  fixed32(field: number, value: number): void {
    this.#reserve(16);
    this.#varint((field << 3) | FIXED32);
    this.#at = this.#buffer.writeUInt32LE(value >>> 0, this.#at);
  }

  /** Epoch time as fixed64 ns. */
  time(field: number, [seconds, nanos]: readonly [number, number]): void {
    this.#reserve(16);
    this.#varint((field << 3) | FIXED64);
    // Seconds times 1e9 does not fit a double: the product is put together from two halves.
    const low = (seconds & 0xffff) * 1e9 + nanos;
    const high = Math.floor(seconds / 0x10000) * 1e9;
    const sumLow = (low % 0x1_0000_0000) + (high % 0x10000) * 0x10000;
    const carry =
      Math.floor(low / 0x1_0000_0000) + Math.floor(high / 0x10000) + Math.floor(sumLow / 0x1_0000_0000);
    this.#at = this.#buffer.writeUInt32LE(sumLow % 0x1_0000_0000, this.#at);
    this.#at = this.#buffer.writeUInt32LE(carry >>> 0, this.#at);
  }

  double(field: number, value: number): void {
    this.#reserve(16);
    this.#varint((field << 3) | FIXED64);
    this.#at = this.#buffer.writeDoubleLE(value, this.#at);
  }

  /** Bytes given as hex text: trace and span ids. */
  hex(field: number, text: string): void {
    this.#reserve(16 + text.length);
    this.#varint((field << 3) | LENGTH);
    this.#varint(text.length >>> 1);
    this.#at += this.#buffer.write(text, this.#at, 'hex');
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  string(field: number, text: string): void {
    // A character is at most three bytes of UTF-8.
    this.#reserve(16 + text.length * 3);
    this.#varint((field << 3) | LENGTH);
    const short = text.length < 128 ? this.#ascii(text) : false;
    if (short) return;
    const length = Buffer.byteLength(text);
    this.#varint(length);
    this.#at += this.#buffer.write(text, this.#at, 'utf8');
  }

  /** Short plain texts are copied by hand: a call into the runtime costs more. */
  #ascii(text: string): boolean {
    const start = this.#at + 1;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) return false;
      this.#buffer[start + i] = code;
    }
    this.#buffer[this.#at] = text.length;
    this.#at = start + text.length;
    return true;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.#buffer[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#at++] = rest;
  }

  #negative(value: bigint): void {
    let rest = BigInt.asUintN(64, value);
    while (rest > 0x7fn) {
      this.#buffer[this.#at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#buffer[this.#at++] = Number(rest);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + bytes));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}
