import type { SpanTableBuilder } from '../model/span-table-builder.ts';
import { JsonBytes, UNKNOWN } from './json-bytes.ts';
import { PADDING } from './line-buffer.ts';
import { OtlpSpanScanner } from './otlp-span-scan.ts';
import { decodeAttributes, isObject, text } from './otlp-values.ts';

const MAX_CACHED = 1000;

/**
 * The fast way to read a line of OTLP/JSON: bytes to columns, no object and no text per span.
 *
 * It knows what exporters write: no white space, hex ids, times of 19 digits, keys in any order. At the first thing
 * else it gives the line up, takes back its rows and leaves the line to JSON.parse and {@link readResourceSpans},
 * which give the same table for every line both can read.
 */
export class OtlpLineScanner {
  readonly #json = new JsonBytes();
  readonly #builder: SpanTableBuilder;
  /** By their bytes: the same Resource and scope stand in every line. */
  readonly #resources = new Map<string, number>();
  readonly #scopes = new Map<string, number>();
  readonly #spans: OtlpSpanScanner;

  constructor(builder: SpanTableBuilder) {
    this.#builder = builder;
    this.#spans = new OtlpSpanScanner(this.#json, builder);
  }

  /** Reads buffer[from..end). @returns false when the line is not one it knows; then nothing of it stays. */
  scan(buffer: Buffer, from: number, end: number): boolean {
    if (end + PADDING > buffer.length || buffer[from] !== 0x7b) return false;
    this.#json.setBuffer(buffer);
    const mark = this.#builder.mark();
    let stopped: number;
    try {
      stopped = this.#request(from);
    } catch {
      // JSON.parse refused a part: the slow path will say what of it can be used.
      stopped = UNKNOWN;
    }
    if (stopped === end) return true;
    this.#builder.rollback(mark);
    this.#resources.clear();
    this.#scopes.clear();
    return false;
  }

  #request(from: number): number {
    const { bytes } = this.#json;
    let p = from + 1;
    let spans = false;
    for (;;) {
      const key = this.#json.valueAfterKey(p);
      if (key < 0) return UNKNOWN;
      if (this.#json.isKey(p, 'resourceSpans')) {
        if (spans) return UNKNOWN;
        spans = true;
        p = this.#list(key, RESOURCE_SPANS);
      } else if (OTHER_SIGNALS.some((name) => this.#json.isKey(p, name))) return UNKNOWN;
      else p = this.#json.skipValue(key);
      if (p < 0) return UNKNOWN;
      if (bytes[p] === 0x2c) p++;
      else return bytes[p] === 0x7d && spans ? p + 1 : UNKNOWN;
    }
  }

  #list(from: number, what: number): number {
    const { bytes } = this.#json;
    if (bytes[from] !== 0x5b) return UNKNOWN;
    let p = from + 1;
    if (bytes[p] === 0x5d) return p + 1;
    for (;;) {
      if (bytes[p] !== 0x7b) return UNKNOWN;
      p = what === SPANS ? this.#spans.span(p) : this.#holder(p, what);
      if (p < 0) return UNKNOWN;
      if (bytes[p] === 0x2c) p++;
      else return bytes[p] === 0x5d ? p + 1 : UNKNOWN;
    }
  }

  /** A ResourceSpans or a ScopeSpans; what it holds may stand before what describes it. */
  #holder(from: number, what: number): number {
    const { bytes } = this.#json;
    const builder = this.#builder;
    const ofResource = what === RESOURCE_SPANS;
    const first = builder.length;
    let index = -1;
    let lists = false;
    let p = from + 1;
    if (bytes[p] === 0x7d) return p + 1;
    for (;;) {
      const key = this.#json.valueAfterKey(p);
      if (key < 0) return UNKNOWN;
      if (this.#json.isKey(p, ofResource ? 'scopeSpans' : 'spans')) {
        if (lists) return UNKNOWN;
        lists = true;
        p = this.#list(key, ofResource ? SCOPE_SPANS : SPANS);
      } else if (this.#json.isKey(p, ofResource ? 'resource' : 'scope')) {
        p = this.#json.valueEnd(key);
        if (p < 0 || index >= 0 || bytes[key] !== 0x7b) return UNKNOWN;
        index = ofResource ? this.#resource(key, p) : this.#scope(key, p);
      } else if (OLD_NAMES.some((name) => this.#json.isKey(p, name))) return UNKNOWN;
      else p = this.#json.skipValue(key);
      if (p < 0) return UNKNOWN;
      if (bytes[p] === 0x2c) {
        p++;
        continue;
      }
      if (bytes[p] !== 0x7d) return UNKNOWN;
      if (index < 0) index = ofResource ? builder.resource(new Map()) : builder.scope('', '');
      const column = ofResource ? builder.columns.resource : builder.columns.scope;
      column.fill(index, first, builder.length);
      return p + 1;
    }
  }

  #resource(from: number, end: number): number {
    const key = this.#json.bytes.toString('latin1', from, end);
    let index = this.#resources.get(key);
    if (index === undefined) {
      const value = this.#json.parse(from, end);
      index = this.#builder.resource(decodeAttributes(isObject(value) ? value.attributes : undefined));
      if (this.#resources.size === MAX_CACHED) this.#resources.clear();
      this.#resources.set(key, index);
    }
    return index;
  }

  #scope(from: number, end: number): number {
    const key = this.#json.bytes.toString('latin1', from, end);
    let index = this.#scopes.get(key);
    if (index === undefined) {
      const value = this.#json.parse(from, end);
      index = isObject(value) ? this.#builder.scope(text(value.name), text(value.version)) : 0;
      if (this.#scopes.size === MAX_CACHED) this.#scopes.clear();
      this.#scopes.set(key, index);
    }
    return index;
  }
}

const RESOURCE_SPANS = 0;
const SCOPE_SPANS = 1;
const SPANS = 2;

const OTHER_SIGNALS = ['resourceMetrics', 'resourceLogs', 'resourceProfiles'];
const OLD_NAMES = ['instrumentationLibrarySpans', 'instrumentationLibrary'];
