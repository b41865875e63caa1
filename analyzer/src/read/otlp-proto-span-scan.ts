import type { AttributeColumns } from '../model/attribute-columns.ts';
import { hashBytes } from '../model/content-hash.ts';
import { FLAG } from '../model/span-codes.ts';
import type { SpanTableBuilder } from '../model/span-table-builder.ts';
import type { StringPool } from '../model/strings.ts';
import { AttributeGuesses } from './attribute-guesses.ts';
import { splitUnixNano } from './times.ts';

/** Tags of `Span` (opentelemetry/proto/trace/v1/trace.proto) as exporters write them, one byte each. */
const TAG = {
  traceId: 0x0a,
  spanId: 0x12,
  traceState: 0x1a,
  parentSpanId: 0x22,
  name: 0x2a,
  kind: 0x30,
  start: 0x39,
  end: 0x41,
  attributes: 0x4a,
  droppedAttributes: 0x50,
  droppedEvents: 0x60,
  droppedLinks: 0x70,
  status: 0x7a,
  /** Two bytes: field 16 and later. */
  flags: 0x85,
} as const;

/** Tags of `KeyValue` and `AnyValue`. */
const KEY = 0x0a;
const VALUE = 0x12;
const ANY = { string: 0x0a, bool: 0x10, int: 0x18, double: 0x21 } as const;

/**
 * The fast way to read a span of OTLP protobuf: bytes to columns, no object and no text.
 *
 * It knows what exporters write of most spans: ids of full width, lengths below 16 kB, simple values. At the first thing
 * else it gives the span up, and {@link readSpan} reads it field by field, with the same result for all both can read.
 */
export class ProtoSpanScanner {
  readonly #builder: SpanTableBuilder;
  readonly #columns: AttributeColumns;
  readonly #strings: StringPool;
  readonly #guesses = new AttributeGuesses();
  #bytes: Buffer = Buffer.alloc(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  /** Where what a length was read of last begins; -1 where it was no length of one or two bytes. */
  #from = 0;
  readonly #time = { sec: 0, ns: 0 };

  constructor(builder: SpanTableBuilder) {
    this.#builder = builder;
    this.#columns = builder.attributes;
    this.#strings = builder.strings;
  }

  /** Reads bytes[from..end) as one span. @returns false when it is not one it knows; then nothing of it stays. */
  scan(bytes: Buffer, view: DataView, from: number, end: number, resource: number, scope: number): boolean {
    this.#bytes = bytes;
    this.#view = view;
    const builder = this.#builder;
    const row = builder.open();
    const { columns } = builder;
    let name = 0;
    let traceState = 0;
    let kind = 0;
    let flags = FLAG.noParent | FLAG.noStart | FLAG.noEnd;
    let ids = 0;
    let node = -1;
    columns.parentHi[row] = 0;
    columns.parentLo[row] = 0;
    columns.startSec[row] = 0;
    columns.startNs[row] = 0;
    columns.endSec[row] = 0;
    columns.endNs[row] = 0;
    columns.status[row] = 0;
    let p = from;
    while (p < end) {
      const tag = bytes[p];
      switch (tag) {
        case TAG.traceId: {
          if (bytes[p + 1] !== 16 || p + 18 > end) return false;
          const a = view.getUint32(p + 2);
          const b = view.getUint32(p + 6);
          const c = view.getUint32(p + 10);
          const d = view.getUint32(p + 14);
          if ((a | b | c | d) === 0) return false;
          columns.trace[row] = builder.trace(a, b, c, d);
          ids |= 1;
          p += 18;
          break;
        }
        case TAG.spanId:
          if (bytes[p + 1] !== 8 || p + 10 > end) return false;
          columns.spanHi[row] = view.getUint32(p + 2);
          columns.spanLo[row] = view.getUint32(p + 6);
          if ((columns.spanHi[row] | columns.spanLo[row]) === 0) return false;
          ids |= 2;
          p += 10;
          break;
        case TAG.parentSpanId: {
          if (bytes[p + 1] === 0) {
            flags |= FLAG.noParent;
            p += 2;
            break;
          }
          if (bytes[p + 1] !== 8 || p + 10 > end) return false;
          const high = view.getUint32(p + 2);
          const low = view.getUint32(p + 6);
          columns.parentHi[row] = high;
          columns.parentLo[row] = low;
          flags = (high | low) === 0 ? flags | FLAG.noParent : flags & ~FLAG.noParent;
          p += 10;
          break;
        }
        case TAG.traceState:
        case TAG.name: {
          const length = this.#length(p + 1);
          p = this.#from;
          if (p < 0 || p + length > end) return false;
          const id = this.#strings.internBytes(bytes, view, p, p + length);
          if (tag === TAG.name) name = id;
          else traceState = id;
          p += length;
          break;
        }
        case TAG.kind:
          kind = bytes[p + 1];
          if (kind > 5) return false;
          p += 2;
          break;
        case TAG.start:
          if (p + 9 > end || !this.#readTime(p + 1)) return false;
          columns.startSec[row] = this.#time.sec;
          columns.startNs[row] = this.#time.ns;
          flags &= ~FLAG.noStart;
          p += 9;
          break;
        case TAG.end:
          if (p + 9 > end || !this.#readTime(p + 1)) return false;
          columns.endSec[row] = this.#time.sec;
          columns.endNs[row] = this.#time.ns;
          flags &= ~FLAG.noEnd;
          p += 9;
          break;
        case TAG.attributes: {
          const length = this.#length(p + 1);
          p = this.#from;
          if (p < 0 || p + length > end) return false;
          node = this.#attribute(p, p + length, node < 0 ? this.#guesses.start(name) : node);
          if (node < 0) return false;
          p += length;
          break;
        }
        case TAG.droppedAttributes:
        case TAG.droppedEvents:
        case TAG.droppedLinks:
          if (bytes[p + 1] > 0x7f) return false;
          p += 2;
          break;
        case TAG.status:
          // An empty one, or a code alone.
          if (bytes[p + 1] === 0) p += 2;
          else if (bytes[p + 1] === 2 && bytes[p + 2] === 0x18 && bytes[p + 3] <= 2) {
            columns.status[row] = bytes[p + 3];
            p += 4;
          } else return false;
          break;
        case TAG.flags:
          if (bytes[p + 1] !== 1) return false;
          p += 6;
          break;
        default:
          return false;
      }
    }
    if (p !== end || ids !== 3) return false;
    // proto3 leaves a zero out: with an end there, an absent start is the instant 0.
    if ((flags & FLAG.noEnd) === 0) flags &= ~FLAG.noStart;
    columns.name[row] = name;
    columns.traceState[row] = traceState;
    columns.statusMessage[row] = 0;
    columns.kind[row] = kind;
    columns.flags[row] = flags;
    columns.resource[row] = resource;
    columns.scope[row] = scope;
    builder.close(row);
    return true;
  }

  /** Reads a `KeyValue`. @returns the node of {@link AttributeGuesses} behind it, -1 where it is none of the simple ones. */
  #attribute(from: number, end: number, before: number): number {
    const bytes = this.#bytes;
    const guesses = this.#guesses;
    let node = guesses.after(before, bytes, this.#view, from);
    if (node < 0) {
      const length = bytes[from + 1];
      const value = from + 2 + length;
      if (bytes[from] !== KEY || length > 0x7f || value >= end || bytes[value] !== VALUE) return -1;
      const key = this.#strings.internBytes(bytes, this.#view, from + 2, value);
      node = guesses.learn(before, key, 0, bytes, from, value + 1);
      if (guesses.lengthOf(node) === 0) return -1;
    }
    const at = from + guesses.lengthOf(node);
    const columns = this.#columns;
    const key = guesses.key[node];
    // The length of a value stands before it: the same bytes are the same value, with the same end.
    const same = guesses.sameValue(node, bytes, this.#view, at);
    if (same > 0 && at + same === end) {
      columns.again(key, guesses.addedType[node], guesses.addedData[node]);
      guesses.hit(node);
      return node;
    }
    const length = this.#length(at);
    const value = this.#from;
    if (value < 0 || value + length !== end) return -1;
    if (!this.#value(value, end, key, node)) return -1;
    guesses.remember(node, bytes, at, end, columns.addedType, columns.addedData);
    return node;
  }

  /** Reads an `AnyValue`. */
  #value(from: number, end: number, key: number, node: number): boolean {
    const bytes = this.#bytes;
    const columns = this.#columns;
    switch (from < end ? bytes[from] : -1) {
      case ANY.string: {
        const length = this.#length(from + 1);
        const text = this.#from;
        if (text < 0 || text + length !== end) return false;
        if (columns.keeps(key)) columns.addText(key, this.#keptText(text, end, node));
        else columns.dropText(key, hashBytes(bytes, this.#view, text, end));
        return true;
      }
      case ANY.bool:
        if (end !== from + 2 || bytes[from + 1] > 1) return false;
        columns.add(key, bytes[from + 1] === 1);
        return true;
      case ANY.int: {
        // Seven bytes hold 49 bits; negative numbers take ten.
        if (end - from > 8) return false;
        let value = 0;
        let factor = 1;
        for (let p = from + 1; p < end; p++) {
          value += (bytes[p] & 0x7f) * factor;
          if (bytes[p] > 0x7f === (p === end - 1)) return false;
          factor *= 128;
        }
        if (end === from + 1) return false;
        columns.addNumber(key, value);
        return true;
      }
      case ANY.double:
        if (end !== from + 9) return false;
        columns.addNumber(key, this.#view.getFloat64(from + 1, true));
        return true;
      default:
        return false;
    }
  }

  /** The text the attribute had last is compared before anything is hashed. */
  #keptText(from: number, end: number, node: number): number {
    const guess = this.#guesses.text[node];
    const length = end - from;
    if (guess !== 0 && this.#strings.lengthAt(guess, this.#bytes, this.#view, from) === length) return guess;
    const id = this.#strings.internBytes(this.#bytes, this.#view, from, end);
    this.#guesses.text[node] = id;
    return id;
  }

  /** Reads a length of one or two bytes; the position behind it stands in #from then, -1 for a longer one. */
  #length(p: number): number {
    const first = this.#bytes[p];
    if (first < 0x80) {
      this.#from = p + 1;
      return first;
    }
    const second = this.#bytes[p + 1];
    this.#from = second < 0x80 ? p + 2 : -1;
    return (first & 0x7f) | (second << 7);
  }

  #readTime(p: number): boolean {
    return splitUnixNano(this.#view.getUint32(p, true), this.#view.getUint32(p + 4, true), this.#time);
  }
}
