import type { SpanEvent, SpanLink } from '../model/span.ts';
import { FLAG } from '../model/span-table.ts';
import type { SpanTableBuilder } from '../model/span-table-builder.ts';
import { JsonBytes, UNKNOWN, word } from './json-bytes.ts';
import { decodeEvents, decodeLinks, decodeStatus } from './otlp-json.ts';
import { decodeAnyValue, decodeAttributes, isObject, text } from './otlp-values.ts';

const W = {
  trac: word('trac'),
  eId: word('eId"'),
  eSta: word('eSta'),
  te: word('te":'),
  span: word('span'),
  id: word('Id":'),
  pare: word('pare'),
  ntSp: word('ntSp'),
  anId: word('anId'),
  name: word('name'),
  kind: word('kind'),
  star: word('star'),
  tTim: word('tTim'),
  eUni: word('eUni'),
  xNan: word('xNan'),
  endT: word('endT'),
  imeU: word('imeU'),
  nixN: word('nixN'),
  ano: word('ano"'),
  attr: word('attr'),
  ibut: word('ibut'),
  es: word('es":'),
  link: word('link'),
  even: word('even'),
  nts: word('nts"'),
  stat: word('stat'),
  us: word('us":'),
  key: word('{"ke'),
  y: word('y":"'),
  va: word(',"va'),
  lue: word('lue"'),
  stri: word('stri'),
  ngVa: word('ngVa'),
  intV: word('intV'),
  alue: word('alue'),
  bool: word('bool'),
  Valu: word('Valu'),
  doub: word('doub'),
  leVa: word('leVa'),
  true: word('true'),
  fals: word('fals'),
} as const;

/** Fields of a span seen so far: a second one of the same name is left to JSON.parse, which knows which counts. */
const SEEN = {
  traceId: 1,
  spanId: 2,
  start: 4,
  end: 8,
  parent: 16,
  name: 32,
  kind: 64,
  attributes: 128,
  links: 256,
  events: 512,
  status: 1024,
  traceState: 2048,
} as const;
const REQUIRED = SEEN.traceId | SEEN.spanId | SEEN.start | SEEN.end;

/** Bytes that must stand behind a line, so that reads of four never leave the buffer. */
export const SCAN_PADDING = 64;

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
  #links: readonly SpanLink[] = [];
  #events: readonly SpanEvent[] = [];

  constructor(builder: SpanTableBuilder) {
    this.#builder = builder;
  }

  /** Reads buffer[from..end). @returns false when the line is not one it knows; then nothing of it stays. */
  scan(buffer: Buffer, from: number, end: number): boolean {
    if (end + SCAN_PADDING > buffer.length || buffer[from] !== 0x7b) return false;
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
      const key = this.#key(p);
      if (key < 0) return UNKNOWN;
      if (this.#isKey(p, 'resourceSpans')) {
        if (spans) return UNKNOWN;
        spans = true;
        p = this.#list(key, RESOURCE_SPANS);
      } else if (OTHER_SIGNALS.some((name) => this.#isKey(p, name))) return UNKNOWN;
      else p = this.#json.skipValue(key);
      if (p < 0) return UNKNOWN;
      if (bytes[p] === 0x2c) p++;
      else return bytes[p] === 0x7d && spans ? p + 1 : UNKNOWN;
    }
  }

  /** @returns the position of the value behind the key at p; UNKNOWN when it may be a proto name. */
  #key(p: number): number {
    const { bytes } = this.#json;
    if (bytes[p] !== 0x22) return UNKNOWN;
    const end = this.#json.stringEnd(p + 1);
    if (end < 0 || this.#json.escaped || bytes[end + 1] !== 0x3a) return UNKNOWN;
    for (let i = p + 1; i < end; i++) if (bytes[i] === 0x5f) return UNKNOWN;
    return end + 2;
  }

  /** The key at p, whose end #key has found. */
  #isKey(p: number, name: string): boolean {
    const { bytes } = this.#json;
    if (bytes[p + 1 + name.length] !== 0x22) return false;
    for (let i = 0; i < name.length; i++) if (bytes[p + 1 + i] !== name.charCodeAt(i)) return false;
    return true;
  }

  #list(from: number, what: number): number {
    const { bytes } = this.#json;
    if (bytes[from] !== 0x5b) return UNKNOWN;
    let p = from + 1;
    if (bytes[p] === 0x5d) return p + 1;
    for (;;) {
      if (bytes[p] !== 0x7b) return UNKNOWN;
      p = what === SPANS ? this.#span(p) : this.#holder(p, what);
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
      const key = this.#key(p);
      if (key < 0) return UNKNOWN;
      if (this.#isKey(p, ofResource ? 'scopeSpans' : 'spans')) {
        if (lists) return UNKNOWN;
        lists = true;
        p = this.#list(key, ofResource ? SCOPE_SPANS : SPANS);
      } else if (this.#isKey(p, ofResource ? 'resource' : 'scope')) {
        p = this.#json.valueEnd(key);
        if (p < 0 || index >= 0 || bytes[key] !== 0x7b) return UNKNOWN;
        index = ofResource ? this.#resource(key, p) : this.#scope(key, p);
      } else if (OLD_NAMES.some((name) => this.#isKey(p, name))) return UNKNOWN;
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

  #span(from: number): number {
    const json = this.#json;
    const { bytes, view } = json;
    const builder = this.#builder;
    const row = builder.open();
    const columns = builder.columns;
    let seen = 0;
    let flags = FLAG.noParent as number;
    let name = 0;
    let traceState = 0;
    let statusMessage = 0;
    let p = from + 1;
    json.hexOk = true;
    columns.kind[row] = 0;
    columns.status[row] = 0;
    columns.parentHi[row] = 0;
    columns.parentLo[row] = 0;
    for (;;) {
      if (bytes[p] !== 0x22) return UNKNOWN;
      p++;
      let field = 0;
      switch (view.getInt32(p, true)) {
        case W.trac:
          if (view.getInt32(p + 4, true) === W.eId && bytes[p + 8] === 0x3a && bytes[p + 9] === 0x22) {
            if (bytes[p + 42] !== 0x22) return UNKNOWN;
            field = SEEN.traceId;
            const a = json.hex8(p + 10);
            const b = json.hex8(p + 18);
            const c = json.hex8(p + 26);
            const d = json.hex8(p + 34);
            if (!json.hexOk || (a | b | c | d) === 0) return UNKNOWN;
            columns.trace[row] = builder.trace(a, b, c, d);
            p += 43;
          } else if (view.getInt32(p + 4, true) === W.eSta && view.getInt32(p + 8, true) === W.te) {
            if (bytes[p + 12] !== 0x22) return UNKNOWN;
            const end = json.stringEnd(p + 13);
            if (end < 0) return UNKNOWN;
            field = SEEN.traceState;
            traceState = this.#text(p + 13, end);
            p = end + 1;
          } else return UNKNOWN;
          break;
        case W.span:
          if (view.getInt32(p + 4, true) !== W.id || bytes[p + 8] !== 0x22 || bytes[p + 25] !== 0x22)
            return UNKNOWN;
          field = SEEN.spanId;
          columns.spanHi[row] = json.hex8(p + 9);
          columns.spanLo[row] = json.hex8(p + 17);
          if ((columns.spanHi[row] | columns.spanLo[row]) === 0) return UNKNOWN;
          p += 26;
          break;
        case W.pare:
          if (view.getInt32(p + 4, true) !== W.ntSp || view.getInt32(p + 8, true) !== W.anId) return UNKNOWN;
          if (bytes[p + 12] !== 0x22 || bytes[p + 13] !== 0x3a || bytes[p + 14] !== 0x22) return UNKNOWN;
          field = SEEN.parent;
          if (bytes[p + 15] === 0x22) p += 16;
          else {
            if (bytes[p + 31] !== 0x22) return UNKNOWN;
            const high = json.hex8(p + 15);
            const low = json.hex8(p + 23);
            columns.parentHi[row] = high;
            columns.parentLo[row] = low;
            if ((high | low) !== 0) flags &= ~FLAG.noParent;
            p += 32;
          }
          break;
        case W.name: {
          if (bytes[p + 4] !== 0x22 || bytes[p + 5] !== 0x3a || bytes[p + 6] !== 0x22) return UNKNOWN;
          const end = json.stringEnd(p + 7);
          if (end < 0) return UNKNOWN;
          field = SEEN.name;
          name = this.#text(p + 7, end);
          p = end + 1;
          break;
        }
        case W.kind: {
          const kind = bytes[p + 6] - 0x30;
          if (bytes[p + 4] !== 0x22 || bytes[p + 5] !== 0x3a || kind < 0 || kind > 5) return UNKNOWN;
          field = SEEN.kind;
          columns.kind[row] = kind;
          p += 7;
          break;
        }
        case W.star:
          if (view.getInt32(p + 4, true) !== W.tTim || view.getInt32(p + 8, true) !== W.eUni) return UNKNOWN;
          if (view.getInt32(p + 12, true) !== W.xNan || view.getInt16(p + 16, true) !== 0x226f)
            return UNKNOWN;
          field = SEEN.start;
          p = this.#time(p + 18, columns.startSec, columns.startNs, row);
          break;
        case W.endT:
          if (view.getInt32(p + 4, true) !== W.imeU || view.getInt32(p + 8, true) !== W.nixN) return UNKNOWN;
          if (view.getInt32(p + 12, true) !== W.ano) return UNKNOWN;
          field = SEEN.end;
          p = this.#time(p + 16, columns.endSec, columns.endNs, row);
          break;
        case W.attr:
          if (view.getInt32(p + 4, true) !== W.ibut || view.getInt32(p + 8, true) !== W.es) return UNKNOWN;
          field = SEEN.attributes;
          p = this.#attributes(p + 12);
          break;
        case W.link:
          if (bytes[p + 4] !== 0x73 || bytes[p + 5] !== 0x22 || bytes[p + 6] !== 0x3a) return UNKNOWN;
          field = SEEN.links;
          p = this.#skipped(p + 7, field);
          break;
        case W.even:
          if (view.getInt32(p + 3, true) !== W.nts || bytes[p + 7] !== 0x3a) return UNKNOWN;
          field = SEEN.events;
          p = this.#skipped(p + 8, field);
          break;
        case W.stat: {
          if (view.getInt32(p + 4, true) !== W.us) return UNKNOWN;
          field = SEEN.status;
          const value = p + 8;
          p = json.valueEnd(value);
          if (p < 0 || bytes[value] !== 0x7b) return UNKNOWN;
          if (bytes[value + 1] !== 0x7d) {
            const status = decodeStatus(json.parse(value, p));
            columns.status[row] = status.code;
            statusMessage = builder.strings.intern(status.message);
          }
          break;
        }
        default: {
          const key = this.#key(p - 1);
          if (key < 0) return UNKNOWN;
          p = json.skipValue(key);
        }
      }
      if (p < 0 || (seen & field) !== 0) return UNKNOWN;
      seen |= field;
      if (bytes[p] === 0x2c) p++;
      else if (bytes[p] === 0x7d) break;
      else return UNKNOWN;
    }
    if ((seen & REQUIRED) !== REQUIRED || !json.hexOk) return UNKNOWN;
    columns.name[row] = name;
    columns.traceState[row] = traceState;
    columns.statusMessage[row] = statusMessage;
    columns.flags[row] = flags;
    if ((seen & (SEEN.links | SEEN.events)) === 0) builder.close(row);
    else {
      builder.close(row, seen & SEEN.links ? this.#links : [], seen & SEEN.events ? this.#events : []);
    }
    return p + 1;
  }

  /** Links and events are rare: they are parsed as they always are. */
  #skipped(from: number, field: number): number {
    const json = this.#json;
    if (json.bytes[from] !== 0x5b) return UNKNOWN;
    const empty = json.bytes[from + 1] === 0x5d;
    const end = empty ? from + 2 : json.valueEnd(from);
    if (end < 0) return UNKNOWN;
    const value = empty ? [] : json.parse(from, end);
    if (field === SEEN.links) this.#links = decodeLinks(value);
    else this.#events = decodeEvents(value);
    return end;
  }

  /** @returns the string id of the text between two quotes, which the JSON bytes have just stepped over. */
  #text(from: number, end: number): number {
    const json = this.#json;
    const { strings } = this.#builder;
    if (!json.escaped) return strings.internBytes(json.bytes, json.view, from, end);
    return strings.intern(json.parse(from - 1, end + 1) as string);
  }

  /** 19 digits, quoted or not: ten of seconds, nine of nanoseconds. Anything else is left to the slow path. */
  #time(from: number, seconds: Uint32Array, nanos: Uint32Array, row: number): number {
    const json = this.#json;
    const { bytes } = json;
    if (bytes[from] !== 0x3a) return UNKNOWN;
    const quoted = bytes[from + 1] === 0x22;
    const p = quoted ? from + 2 : from + 1;
    const sec = json.decimal(p, 10);
    const ns = json.decimal(p + 10, 9);
    if (sec < 1e9 || sec > 0xffffffff || ns < 0) return UNKNOWN;
    seconds[row] = sec;
    nanos[row] = ns;
    const after = bytes[p + 19];
    if (quoted) return after === 0x22 ? p + 20 : UNKNOWN;
    return after === 0x2c || after === 0x7d ? p + 19 : UNKNOWN;
  }

  #attributes(from: number): number {
    const json = this.#json;
    const { bytes, view } = json;
    const builder = this.#builder;
    if (bytes[from] !== 0x5b) return UNKNOWN;
    let p = from + 1;
    if (bytes[p] === 0x5d) return p + 1;
    for (;;) {
      if (view.getInt32(p, true) !== W.key || view.getInt32(p + 4, true) !== W.y) return UNKNOWN;
      const keyEnd = json.stringEnd(p + 8);
      if (keyEnd < 0) return UNKNOWN;
      const key = this.#text(p + 8, keyEnd);
      p = keyEnd + 1;
      if (view.getInt32(p, true) !== W.va || view.getInt32(p + 4, true) !== W.lue || bytes[p + 8] !== 0x3a)
        return UNKNOWN;
      const value = p + 9;
      if (bytes[value] !== 0x7b) return UNKNOWN;
      p = this.#value(value, key);
      if (p === UNKNOWN) {
        // A list, a map, bytes or an unusual spelling.
        p = json.valueEnd(value);
        if (p < 0) return UNKNOWN;
        builder.attribute(key, decodeAnyValue(json.parse(value, p), 0));
      }
      if (bytes[p] !== 0x7d) return UNKNOWN;
      p++;
      if (bytes[p] === 0x2c) p++;
      else return bytes[p] === 0x5d ? p + 1 : UNKNOWN;
    }
  }

  /** Adds a value of one of the four simple types. @returns the position after its object, UNKNOWN for all others. */
  #value(from: number, key: number): number {
    const json = this.#json;
    const { bytes, view } = json;
    const builder = this.#builder;
    if (bytes[from + 1] !== 0x22) return UNKNOWN;
    const p = from + 2;
    switch (view.getInt32(p, true)) {
      case W.stri: {
        if (view.getInt32(p + 4, true) !== W.ngVa || view.getInt32(p + 8, true) !== W.lue) return UNKNOWN;
        if (bytes[p + 12] !== 0x3a || bytes[p + 13] !== 0x22) return UNKNOWN;
        const end = json.stringEnd(p + 14);
        if (end < 0 || bytes[end + 1] !== 0x7d) return UNKNOWN;
        builder.textAttribute(key, this.#text(p + 14, end));
        return end + 2;
      }
      case W.intV: {
        if (view.getInt32(p + 4, true) !== W.alue || bytes[p + 8] !== 0x22 || bytes[p + 9] !== 0x3a)
          return UNKNOWN;
        const quoted = bytes[p + 10] === 0x22;
        return this.#integer(quoted ? p + 11 : p + 10, quoted, key);
      }
      case W.bool:
        if (view.getInt32(p + 4, true) !== W.Valu || bytes[p + 8] !== 0x65 || bytes[p + 9] !== 0x22)
          return UNKNOWN;
        if (bytes[p + 10] !== 0x3a) return UNKNOWN;
        if (view.getInt32(p + 11, true) === W.true && bytes[p + 15] === 0x7d) {
          builder.attribute(key, true);
          return p + 16;
        }
        if (view.getInt32(p + 11, true) !== W.fals || bytes[p + 15] !== 0x65 || bytes[p + 16] !== 0x7d)
          return UNKNOWN;
        builder.attribute(key, false);
        return p + 17;
      case W.doub: {
        if (
          view.getInt32(p + 4, true) !== W.leVa ||
          view.getInt32(p + 8, true) !== W.lue ||
          bytes[p + 12] !== 0x3a
        ) {
          return UNKNOWN;
        }
        const end = json.literalEnd(p + 13);
        if (end < 0 || bytes[end] !== 0x7d) return UNKNOWN;
        const number = bytes.toString('latin1', p + 13, end);
        if (!NUMBER.test(number)) return UNKNOWN;
        builder.numberAttribute(key, Number(number));
        return end + 1;
      }
      default:
        return UNKNOWN;
    }
  }

  /** Up to 15 digits, which a double holds. */
  #integer(from: number, quoted: boolean, key: number): number {
    const { bytes } = this.#json;
    let p = from;
    const negative = bytes[p] === 0x2d;
    if (negative) p++;
    const first = p;
    let value = 0;
    for (let digit = bytes[p] - 0x30; digit >= 0 && digit <= 9; digit = bytes[p] - 0x30) {
      value = value * 10 + digit;
      p++;
    }
    const digits = p - first;
    if (digits === 0 || digits > 15 || (digits > 1 && bytes[first] === 0x30) || (negative && value === 0))
      return UNKNOWN;
    if (quoted) {
      if (bytes[p] !== 0x22) return UNKNOWN;
      p++;
    }
    if (bytes[p] !== 0x7d) return UNKNOWN;
    this.#builder.numberAttribute(key, negative ? -value : value);
    return p + 1;
  }
}

/** As JSON spells it; true, false and null are none. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const RESOURCE_SPANS = 0;
const SCOPE_SPANS = 1;
const SPANS = 2;

const OTHER_SIGNALS = ['resourceMetrics', 'resourceLogs', 'resourceProfiles'];
const OLD_NAMES = ['instrumentationLibrarySpans', 'instrumentationLibrary'];
