import type { ClockAnchor } from '../core/clock.ts';
import type { SpanIdentity } from '../core/span-id.ts';
import { ByteWriter } from './byte-writer.ts';
import type { SpanHead } from './span-head.ts';

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
    this.at = littleEndian(this.buffer, this.at, value);
  }

  /** A 64-bit number of two unsigned words. */
  fixed64(field: number, high: number, low: number): void {
    this.reserve(16);
    this.#varint((field << 3) | FIXED64);
    this.at = littleEndian(this.buffer, this.at, low);
    this.at = littleEndian(this.buffer, this.at, high);
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
    this.at = bigEndian(this.buffer, this.at, span.trace0);
    this.at = bigEndian(this.buffer, this.at, span.trace1);
    this.at = bigEndian(this.buffer, this.at, span.trace2);
    this.at = bigEndian(this.buffer, this.at, span.trace3);
  }

  /** An id of 64 bits. */
  id(field: number, high: number, low: number): void {
    this.reserve(16);
    const { buffer } = this;
    buffer[this.at++] = (field << 3) | LENGTH;
    buffer[this.at++] = 8;
    this.at = bigEndian(this.buffer, this.at, high);
    this.at = bigEndian(this.buffer, this.at, low);
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
   * Opens an embedded Span with what every span has: ids, kind, times and flags, in one stretch.
   *
   * @returns what {@link close} needs.
   */
  openSpan(
    field: number,
    { trace, idHigh, idLow, parent, kind }: SpanHead,
    flags: number,
    anchor: ClockAnchor,
    startMs: number,
    endMs: number,
  ): number {
    this.reserve(96);
    const { buffer } = this;
    let at = this.at;
    buffer[at++] = (field << 3) | LENGTH;
    at += LENGTH_BYTES;
    const start = at;
    buffer[at++] = (1 << 3) | LENGTH;
    buffer[at++] = 16;
    at = bigEndian(buffer, at, trace.trace0);
    at = bigEndian(buffer, at, trace.trace1);
    at = bigEndian(buffer, at, trace.trace2);
    at = bigEndian(buffer, at, trace.trace3);
    buffer[at++] = (2 << 3) | LENGTH;
    buffer[at++] = 8;
    at = bigEndian(buffer, at, idHigh);
    at = bigEndian(buffer, at, idLow);
    if (parent !== undefined) {
      buffer[at++] = (4 << 3) | LENGTH;
      buffer[at++] = 8;
      at = bigEndian(buffer, at, parent.high);
      at = bigEndian(buffer, at, parent.low);
    }
    buffer[at++] = (6 << 3) | VARINT;
    buffer[at++] = kind;
    const startNs = anchor.lowWord + Math.round(startMs * 1e6);
    const startCarry = Math.floor(startNs / WORD);
    buffer[at++] = (7 << 3) | FIXED64;
    at = littleEndian(buffer, at, startNs - startCarry * WORD);
    at = littleEndian(buffer, at, anchor.highWord + startCarry);
    const endNs = anchor.lowWord + Math.round(endMs * 1e6);
    const endCarry = Math.floor(endNs / WORD);
    buffer[at++] = (8 << 3) | FIXED64;
    at = littleEndian(buffer, at, endNs - endCarry * WORD);
    at = littleEndian(buffer, at, anchor.highWord + endCarry);
    // Field 16 has a tag of two bytes.
    buffer[at++] = (((16 << 3) | FIXED32) & 0x7f) | 0x80;
    buffer[at++] = 1;
    this.at = littleEndian(buffer, at, flags);
    return start;
  }

  /**
   * A `KeyValue` with a text, as attribute of a message.
   *
   * @param key the key's field, encoded, and the tag of the value's.
   */
  textPair(field: number, key: Uint8Array, value: string): void {
    const valueLength = value.length;
    const keyLength = key.length;
    const pairLength = keyLength + 3 + valueLength;
    if (pairLength < 128) {
      this.reserve(pairLength + 2);
      const { buffer } = this;
      let at = this.at;
      buffer[at++] = (field << 3) | LENGTH;
      buffer[at++] = pairLength;
      for (let i = 0; i < keyLength; i++) buffer[at++] = key[i];
      buffer[at++] = 2 + valueLength;
      buffer[at++] = (1 << 3) | LENGTH;
      buffer[at++] = valueLength;
      let seen = 0;
      for (let i = 0; i < valueLength; i++) {
        const code = value.charCodeAt(i);
        seen |= code;
        buffer[at++] = code;
      }
      if (seen < 128) {
        this.at = at;
        return;
      }
      // Not plain ASCII after all: its length is another one, and it is written again.
    }
    const pair = this.open(field);
    this.bytes(key);
    const any = this.#openLength();
    this.string(1, value);
    this.close(any);
    this.close(pair);
  }

  /** As {@link textPair}, with an integer of 0 or more and a key of less than a hundred bytes. */
  integerPair(field: number, key: Uint8Array, value: number): void {
    const keyLength = key.length;
    this.reserve(keyLength + 32);
    const { buffer } = this;
    let at = this.at;
    buffer[at++] = (field << 3) | LENGTH;
    const lengthAt = at++;
    for (let i = 0; i < keyLength; i++) buffer[at++] = key[i];
    const anyAt = at++;
    buffer[at++] = (3 << 3) | VARINT;
    let rest = value;
    while (rest > 0x7fff_ffff) {
      buffer[at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    while (rest > 0x7f) {
      buffer[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buffer[at++] = rest;
    buffer[anyAt] = at - anyAt - 1;
    buffer[lengthAt] = at - lengthAt - 1;
    this.at = at;
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
}

function littleEndian(buffer: Uint8Array, at: number, word: number): number {
  buffer[at] = word;
  buffer[at + 1] = word >>> 8;
  buffer[at + 2] = word >>> 16;
  buffer[at + 3] = word >>> 24;
  return at + 4;
}

function bigEndian(buffer: Uint8Array, at: number, word: number): number {
  buffer[at] = word >>> 24;
  buffer[at + 1] = word >>> 16;
  buffer[at + 2] = word >>> 8;
  buffer[at + 3] = word;
  return at + 4;
}
