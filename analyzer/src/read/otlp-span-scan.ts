import type { SpanEvent, SpanLink } from '../model/span.ts';
import { FLAG } from '../model/span-codes.ts';
import type { SpanTableBuilder } from '../model/span-table-builder.ts';
import { type JsonBytes, UNKNOWN, word } from './json-bytes.ts';
import { OtlpAttributeScanner } from './otlp-attribute-scan.ts';
import { decodeEvents, decodeLinks, decodeStatus } from './otlp-json.ts';

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

/** Scans one span into the next row, told apart by the first four bytes of each key. */
export class OtlpSpanScanner {
  readonly #json: JsonBytes;
  readonly #builder: SpanTableBuilder;
  readonly #attributes: OtlpAttributeScanner;
  #links: readonly SpanLink[] = [];
  #events: readonly SpanEvent[] = [];

  constructor(json: JsonBytes, builder: SpanTableBuilder) {
    this.#json = json;
    this.#builder = builder;
    this.#attributes = new OtlpAttributeScanner(json, builder);
  }

  /** @returns the position after the span that begins at `from`, UNKNOWN when it is not one the scanner knows. */
  span(from: number): number {
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
            traceState = this.#attributes.text(p + 13, end);
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
          name = this.#attributes.text(p + 7, end);
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
          p = this.#attributes.attributes(p + 12, name);
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
          const key = json.valueAfterKey(p - 1);
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
}
