import type { SpanIdentity } from '../core/span-id.ts';
import { ByteWriter } from './byte-writer.ts';

/** Wire types of https://protobuf.dev/programming-guides/encoding/ */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;
/** Lengths are written after their content, in a place of three bytes: up to 2 MiB a message. */
const LENGTH_BYTES = 3;
const MAX_MESSAGE = 2 ** (7 * LENGTH_BYTES) - 1;
const WORD = 0x1_0000_0000;

/** Writes protobuf into one growing buffer, without an object per message. */
export class ProtobufWriter extends ByteWriter {
  /** Opens an embedded message. @returns what {@link close} needs. */
  open(field: number): number {
    this.reserve(16);
    this.#varint((field << 3) | LENGTH);
    this.at += LENGTH_BYTES;
    return this.at;
  }

  close(start: number): void {
    const length = this.at - start;
    if (length > MAX_MESSAGE) throw new RangeError(`a message of ${length} bytes is too long to encode`);
    this.buffer[start - 3] = (length & 0x7f) | 0x80;
    this.buffer[start - 2] = ((length >>> 7) & 0x7f) | 0x80;
    this.buffer[start - 1] = length >>> 14;
  }

  varint(field: number, value: number): void {
    this.reserve(20);
    this.#varint((field << 3) | VARINT);
    if (value >= 0) this.#varint(value);
    else this.#negative(BigInt(value));
  }

  fixed32(field: number, value: number): void {
    this.reserve(16);
    this.#varint((field << 3) | FIXED32);
    this.#littleEndian(value);
  }

  /** A 64-bit number of two unsigned words. */
  fixed64(field: number, high: number, low: number): void {
    this.reserve(16);
    this.#varint((field << 3) | FIXED64);
    this.#littleEndian(low);
    this.#littleEndian(high);
  }

  /** Epoch time as ns. */
  time(field: number, [seconds, nanos]: readonly [number, number]): void {
    // Seconds times 1e9 does not fit a double: the product is put together from two halves.
    const low = (seconds & 0xffff) * 1e9 + nanos;
    const high = Math.floor(seconds / 0x10000) * 1e9;
    const sumLow = (low % WORD) + (high % 0x10000) * 0x10000;
    const carry = Math.floor(low / WORD) + Math.floor(high / 0x10000) + Math.floor(sumLow / WORD);
    this.fixed64(field, carry, sumLow % WORD);
  }

  double(field: number, value: number): void {
    this.reserve(16);
    this.#varint((field << 3) | FIXED64);
    this.at = this.buffer.writeDoubleLE(value, this.at);
  }

  /** The id of a span's trace. */
  traceId(field: number, span: SpanIdentity): void {
    this.reserve(20);
    const { buffer } = this;
    buffer[this.at++] = (field << 3) | LENGTH;
    buffer[this.at++] = 16;
    this.#bigEndian(span.trace0);
    this.#bigEndian(span.trace1);
    this.#bigEndian(span.trace2);
    this.#bigEndian(span.trace3);
  }

  /** An id of 64 bits. */
  id(field: number, high: number, low: number): void {
    this.reserve(16);
    const { buffer } = this;
    buffer[this.at++] = (field << 3) | LENGTH;
    buffer[this.at++] = 8;
    this.#bigEndian(high);
    this.#bigEndian(low);
  }

  string(field: number, text: string): void {
    // A character is at most three bytes of UTF-8.
    this.reserve(16 + text.length * 3);
    this.#varint((field << 3) | LENGTH);
    if (text.length < 128 && this.#ascii(text)) return;
    this.#varint(Buffer.byteLength(text));
    this.at += this.buffer.write(text, this.at, 'utf8');
  }

  /**
   * A `KeyValue` with a text, as attribute of a message.
   *
   * @param key the key's field, encoded, and the tag of the value's.
   */
  textPair(field: number, key: Uint8Array, value: string): void {
    const { length } = value;
    const start = this.at;
    const pairLength = key.length + 3 + length;
    if (pairLength < 128) {
      this.reserve(pairLength + 8);
      const { buffer } = this;
      buffer[this.at++] = (field << 3) | LENGTH;
      buffer[this.at++] = pairLength;
      this.bytes(key);
      buffer[this.at++] = 2 + length;
      buffer[this.at++] = (1 << 3) | LENGTH;
      if (this.#ascii(value)) return;
      // Not plain ASCII after all: its length is another one.
      this.at = start;
    }
    const pair = this.open(field);
    this.bytes(key);
    const any = this.#openLength();
    this.string(1, value);
    this.close(any);
    this.close(pair);
  }

  /** As {@link textPair}, with an integer of 0 or more. */
  integerPair(field: number, key: Uint8Array, value: number): void {
    this.reserve(key.length + 32);
    const { buffer } = this;
    buffer[this.at++] = (field << 3) | LENGTH;
    const lengthAt = this.at++;
    this.bytes(key);
    const anyAt = this.at++;
    buffer[this.at++] = (3 << 3) | VARINT;
    this.#varint(value);
    buffer[anyAt] = this.at - anyAt - 1;
    buffer[lengthAt] = this.at - lengthAt - 1;
  }

  /** The length of a message whose tag is written already. */
  #openLength(): number {
    this.reserve(LENGTH_BYTES);
    this.at += LENGTH_BYTES;
    return this.at;
  }

  /** Short plain texts are copied by hand: a call into the runtime costs more. */
  #ascii(text: string): boolean {
    const { buffer } = this;
    const { length } = text;
    const start = this.at + 1;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) return false;
      buffer[start + i] = code;
    }
    buffer[this.at] = length;
    this.at = start + length;
    return true;
  }

  #varint(value: number): void {
    const { buffer } = this;
    let rest = value;
    while (rest > 0x7fff_ffff) {
      buffer[this.at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    while (rest > 0x7f) {
      buffer[this.at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buffer[this.at++] = rest;
  }

  #negative(value: bigint): void {
    let rest = BigInt.asUintN(64, value);
    while (rest > 0x7fn) {
      this.buffer[this.at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.buffer[this.at++] = Number(rest);
  }

  #littleEndian(word: number): void {
    const { buffer, at } = this;
    buffer[at] = word;
    buffer[at + 1] = word >>> 8;
    buffer[at + 2] = word >>> 16;
    buffer[at + 3] = word >>> 24;
    this.at = at + 4;
  }

  #bigEndian(word: number): void {
    const { buffer, at } = this;
    buffer[at] = word >>> 24;
    buffer[at + 1] = word >>> 16;
    buffer[at + 2] = word >>> 8;
    buffer[at + 3] = word;
    this.at = at + 4;
  }
}
