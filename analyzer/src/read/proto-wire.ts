import { splitUnixNano } from './times.ts';

const split = { sec: 0, ns: 0 };

/** The bytes are not a protobuf message of this shape. */
export class ProtoError extends Error {}

function viewOf(buffer: Buffer): DataView {
  return new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
}

export const WIRE = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/** Groups are long deprecated and nest without a length: skipping them must end. */
const MAX_GROUP_DEPTH = 32;

/**
 * Walks the fields of one protobuf message: https://protobuf.dev/programming-guides/encoding/.
 * `next()` moves to a field; exactly one of the read methods or `skip()` must follow.
 */
export class ProtoFields {
  buffer: Buffer;
  view: DataView;
  #end: number;
  #at: number;
  number = 0;
  wire = 0;

  constructor(buffer: Buffer, from: number, end: number, view = viewOf(buffer)) {
    this.buffer = buffer;
    this.view = view;
    this.#at = from;
    this.#end = end;
  }

  /** @returns the fields of a whole message. */
  static of(message: Buffer): ProtoFields {
    return new ProtoFields(message, 0, message.length);
  }

  /** Goes over to the message in the field another one stands at. */
  enter(parent: ProtoFields): this {
    this.#at = parent.bytesFrom();
    this.#end = parent.end;
    this.buffer = parent.buffer;
    this.view = parent.view;
    return this;
  }

  /** @returns false at the end of the message. */
  next(): boolean {
    if (this.#at === this.#end) return false;
    const tag = this.#tag();
    this.number = Math.floor(tag / 8);
    this.wire = tag & 7;
    if (this.number === 0) throw new ProtoError('a field has number 0');
    return true;
  }

  /** @returns true when the field is number with that wire type. */
  is(number: number, wire: number): boolean {
    return this.number === number && this.wire === wire;
  }

  /** True when nothing follows the length-delimited field begun. */
  get isLast(): boolean {
    const at = this.#at;
    this.bytesFrom();
    const last = this.#at === this.#end;
    this.#at = at;
    return last;
  }

  skip(): void {
    this.#skip(this.wire, 0);
  }

  /** Walks to the end: throws where the message is broken. */
  skipAll(): void {
    while (this.next()) this.skip();
  }

  /** @returns where the bytes of a length-delimited field begin; they end at {@link end}. */
  bytesFrom(): number {
    const length = this.#tag();
    const from = this.#at;
    if (length > this.#end - from) throw new ProtoError('a field is longer than the message around it');
    this.#at = from + length;
    return from;
  }

  /** End of the field read last. */
  get end(): number {
    return this.#at;
  }

  message(): ProtoFields {
    const from = this.bytesFrom();
    return new ProtoFields(this.buffer, from, this.#at, this.view);
  }

  bytes(): Buffer {
    const from = this.bytesFrom();
    return this.buffer.subarray(from, this.#at);
  }

  text(): string {
    const from = this.bytesFrom();
    return this.buffer.toString('utf8', from, this.#at);
  }

  /** An enum, bool or small count; what does not fit 32 bits wraps as in protobuf. */
  int32(): number {
    return Number(BigInt.asIntN(32, this.varint()));
  }

  /** A zigzag-encoded sint32. */
  sint32(): number {
    const raw = Number(BigInt.asUintN(32, this.varint()));
    return (raw >>> 1) ^ -(raw & 1);
  }

  /** A varint as an unsigned 64-bit integer. */
  varint(): bigint {
    let low = 0;
    let shift = 0;
    for (; shift < 28; shift += 7) {
      const byte = this.#byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt(low);
    }
    let value = BigInt(low);
    for (; shift < 70; shift += 7) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << BigInt(shift);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new ProtoError('a varint is longer than 10 bytes');
  }

  fixed64(): bigint {
    return this.view.getBigUint64(this.#advance(8), true);
  }

  double(): number {
    return this.view.getFloat64(this.#advance(8), true);
  }

  /** Writes a fixed64 of epoch ns to a row of two columns. @returns false when the table cannot hold it (after 2106). */
  time(seconds: Uint32Array, nanos: Uint32Array, row: number): boolean {
    const at = this.#advance(8);
    if (!splitUnixNano(this.view.getUint32(at, true), this.view.getUint32(at + 4, true), split)) return false;
    seconds[row] = split.sec;
    nanos[row] = split.ns;
    return true;
  }

  /** An int64 as a number where that is exact. */
  int64(): number | bigint {
    let value = 0;
    let factor = 1;
    const from = this.#at;
    // Seven bytes hold 49 bits; negative numbers take ten.
    for (let i = 0; i < 7; i++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    this.#at = from;
    const long = BigInt.asIntN(64, this.varint());
    const number = Number(long);
    return Number.isSafeInteger(number) ? number : long;
  }

  /** A repeated fixed64, packed or not. */
  packedFixed64(into: bigint[]): void {
    if (this.wire === WIRE.fixed64) into.push(this.fixed64());
    else for (const inner = this.message(); inner.#at < inner.#end; ) into.push(inner.fixed64());
  }

  packedDouble(into: number[]): void {
    if (this.wire === WIRE.fixed64) into.push(this.double());
    else for (const inner = this.message(); inner.#at < inner.#end; ) into.push(inner.double());
  }

  packedVarint(into: bigint[]): void {
    if (this.wire === WIRE.varint) into.push(this.varint());
    else for (const inner = this.message(); inner.#at < inner.#end; ) into.push(inner.varint());
  }

  #skip(wire: number, depth: number): void {
    switch (wire) {
      case WIRE.varint:
        this.varint();
        return;
      case WIRE.fixed64:
        this.#advance(8);
        return;
      case WIRE.bytes:
        this.bytesFrom();
        return;
      case WIRE.fixed32:
        this.#advance(4);
        return;
      case WIRE.startGroup:
        this.#skipGroup(depth);
        return;
      default:
        throw new ProtoError(`wire type ${wire} is unknown`);
    }
  }

  #skipGroup(depth: number): void {
    if (depth === MAX_GROUP_DEPTH) throw new ProtoError('groups are nested too deep');
    for (;;) {
      const wire = this.#tag() & 7;
      if (wire === WIRE.endGroup) return;
      this.#skip(wire, depth + 1);
    }
  }

  /** A tag or a length: at most 2^35, exact in a double. */
  #tag(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    let factor = 128;
    for (let i = 1; i < 5; i++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    throw new ProtoError('a tag or length is longer than 5 bytes');
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new ProtoError('the message ends inside a field');
    return this.buffer[this.#at++];
  }

  #advance(bytes: number): number {
    const at = this.#at;
    if (this.#end - at < bytes) throw new ProtoError('the message ends inside a field');
    this.#at = at + bytes;
    return at;
  }
}
