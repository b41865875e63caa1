import { AttributeShapesBuilder, grown } from './attribute-shapes.ts';
import type { Attributes, AttributeValue } from './attributes.ts';
import type { Resource, Scope, SpanEvent, SpanLink, SpanRecord } from './span.ts';
import { encodeValue, FLAG, TYPE } from './span-codes.ts';
import type { SpanTable } from './span-table.ts';
import { StringPool } from './strings.ts';
import { TraceIds } from './trace-ids.ts';

/** A state of a {@link SpanTableBuilder} it can go back to. */
export interface BuilderMark {
  readonly rows: number;
  readonly values: number;
  readonly numbers: number;
  readonly traces: number;
  readonly resources: number;
  readonly scopes: number;
}

/** The growing columns of a table. A scanner writes them itself; they are other arrays after {@link SpanTableBuilder.open}. */
export type SpanColumns = Record<U32Column, Uint32Array> & Record<U8Column, Uint8Array>;

/** Grows typed columns as rows come in. Every reader feeds one of these and nothing else. */
export class SpanTableBuilder {
  readonly strings = new StringPool();
  readonly columns: SpanColumns;
  readonly #resources: Resource[] = [];
  readonly #resourceIds = new Map<string, number>();
  readonly #scopes: Scope[] = [];
  readonly #scopeIds = new Map<string, number>();
  readonly #traces = new TraceIds();
  readonly #links = new Map<number, readonly SpanLink[]>();
  readonly #events = new Map<number, readonly SpanEvent[]>();
  #length = 0;
  #capacity = 1024;
  #values = 0;
  #numbersLength = 0;
  readonly #shapes = new AttributeShapesBuilder();
  #attributeShape = new Uint32Array(1024);
  #attributeOffset = new Uint32Array(1025);
  #attributeData = new Uint32Array(8192);
  #numbers = new Float64Array(1024);
  /** Attributes of the row opened last. */
  #pending = 0;
  #pendingKey = new Uint32Array(64);
  #pendingType = new Uint8Array(64);

  constructor() {
    this.columns = {
      ...(Object.fromEntries(U32_COLUMNS.map((name) => [name, new Uint32Array(1024)])) as Record<
        U32Column,
        Uint32Array
      >),
      ...(Object.fromEntries(U8_COLUMNS.map((name) => [name, new Uint8Array(1024)])) as Record<
        U8Column,
        Uint8Array
      >),
    };
  }

  /**
   * Makes room for more rows and attribute values at once. Memory that is never written to costs nothing, growing by
   * and by costs copies.
   */
  reserve(rows: number, values: number): void {
    if (this.#length + rows > this.#capacity) this.#grow(this.#length + rows);
    if (this.#values + values > this.#attributeData.length) {
      this.#attributeData = grown(this.#attributeData, new Uint32Array(this.#values + values));
    }
  }

  /** Rows so far. */
  get length(): number {
    return this.#length;
  }

  /** @returns the index of a Resource; equal ones share an index. */
  resource(attributes: Attributes): number {
    const key = stableKey(attributes);
    let index = this.#resourceIds.get(key);
    if (index === undefined) {
      index = this.#resources.length;
      this.#resources.push(toResource(attributes));
      this.#resourceIds.set(key, index);
    }
    return index;
  }

  /** @returns the index of an instrumentation scope; equal ones share an index. */
  scope(name: string, version: string): number {
    const key = `${name}\u0000${version}`;
    let index = this.#scopeIds.get(key);
    if (index === undefined) {
      index = this.#scopes.length;
      this.#scopes.push({ name, version });
      this.#scopeIds.set(key, index);
    }
    return index;
  }

  /** @returns the index of a trace by the four 32-bit words of its id. */
  trace(a: number, b: number, c: number, d: number): number {
    return this.#traces.of(a, b, c, d);
  }

  /** @returns the index of a trace by the canonical text of its id. */
  traceOf(id: string): number {
    return this.#traces.ofText(id);
  }

  /** Adds one span record. @returns its row. */
  add(span: SpanRecord): number {
    const row = this.open();
    const columns = this.columns;
    let flags = (span.followsFrom ? FLAG.followsFrom : 0) | (span.shared ? FLAG.shared : 0);
    columns.trace[row] = this.#traces.ofText(span.traceId);
    if (this.writeId(span.spanId, columns.spanHi, columns.spanLo, row)) flags |= FLAG.opaqueId;
    if (span.parentSpanId === '') {
      flags |= FLAG.noParent;
      columns.parentHi[row] = 0;
      columns.parentLo[row] = 0;
    } else if (this.writeId(span.parentSpanId, columns.parentHi, columns.parentLo, row))
      flags |= FLAG.opaqueParent;
    if (span.startUnixNano === null) flags |= FLAG.noStart;
    setTime(span.startUnixNano ?? 0n, columns.startSec, columns.startNs, row);
    if (span.endUnixNano === null) flags |= FLAG.noEnd;
    setTime(span.endUnixNano ?? 0n, columns.endSec, columns.endNs, row);
    columns.name[row] = this.strings.intern(span.name);
    columns.resource[row] = span.resource;
    columns.scope[row] = span.scope;
    columns.traceState[row] = this.strings.intern(span.traceState);
    columns.statusMessage[row] = this.strings.intern(span.statusMessage);
    columns.kind[row] = span.kind;
    columns.status[row] = span.statusCode;
    columns.flags[row] = flags;
    for (const [key, value] of span.attributes) this.attribute(this.strings.intern(key), value);
    this.close(row, span.links, span.events);
    return row;
  }

  /** Writes an id in canonical text to its two columns. @returns true when it is opaque text. */
  writeId(id: string, hi: Uint32Array, lo: Uint32Array, row: number): boolean {
    if (HEX16.test(id)) {
      hi[row] = Number.parseInt(id.slice(0, 8), 16);
      lo[row] = Number.parseInt(id.slice(8), 16);
      return false;
    }
    hi[row] = 0;
    lo[row] = this.strings.intern(id);
    return true;
  }

  /**
   * @returns the next row, with room in every column. Its writer fills all columns of {@link columns}, adds the
   * attributes and closes it; a row not closed does not exist.
   */
  open(): number {
    if (this.#length === this.#capacity) this.#grow(grownLength(this.#capacity));
    this.#values = this.#attributeOffset[this.#length];
    this.#pending = 0;
    return this.#length;
  }

  /** The row opened last becomes part of the table, with the attributes added since. */
  close(row: number, links: readonly SpanLink[] = NONE, events: readonly SpanEvent[] = NONE): void {
    this.#length = row + 1;
    this.#attributeShape[row] = this.#shapes.of(this.#pendingKey, this.#pendingType, this.#pending);
    this.#attributeOffset[row + 1] = this.#values;
    if (links.length > 0) this.#links.set(row, links);
    if (events.length > 0) this.#events.set(row, events);
  }

  /** Adds an attribute, by the string id of its key, to the row opened last. */
  attribute(key: number, value: AttributeValue): void {
    if (typeof value === 'string') this.#entry(key, TYPE.string, this.strings.intern(value));
    else if (typeof value === 'number') this.numberAttribute(key, value);
    else if (typeof value === 'boolean') this.#entry(key, TYPE.boolean, value ? 1 : 0);
    else this.#entry(key, TYPE.json, this.strings.intern(encodeValue(value)));
  }

  /** As {@link attribute}, for a text that is interned already. */
  textAttribute(key: number, text: number): void {
    this.#entry(key, TYPE.string, text);
  }

  /** As {@link attribute}, for a number. */
  numberAttribute(key: number, value: number): void {
    if (value >>> 0 === value && !Object.is(value, -0)) {
      this.#entry(key, TYPE.uint, value);
      return;
    }
    const index = this.#numbersLength;
    if (index === this.#numbers.length) {
      this.#numbers = grown(this.#numbers, new Float64Array(grownLength(index)));
    }
    this.#numbers[index] = value;
    this.#numbersLength = index + 1;
    this.#entry(key, TYPE.number, index);
  }

  /** @returns where the table stands, for {@link rollback}. */
  mark(): BuilderMark {
    return {
      rows: this.#length,
      values: this.#attributeOffset[this.#length],
      numbers: this.#numbersLength,
      traces: this.#traces.length,
      resources: this.#resources.length,
      scopes: this.#scopes.length,
    };
  }

  /** Takes back everything added since a mark (a record that turned out to be broken). Interned text stays. */
  rollback(mark: BuilderMark): void {
    for (let row = mark.rows; row < this.#length; row++) {
      this.#links.delete(row);
      this.#events.delete(row);
    }
    this.#length = mark.rows;
    this.#values = mark.values;
    this.#numbersLength = mark.numbers;
    this.#traces.truncate(mark.traces);
    dropFrom(this.#resourceIds, this.#resources, mark.resources);
    dropFrom(this.#scopeIds, this.#scopes, mark.scopes);
  }

  /** @returns the finished table; the builder must not be used afterwards. */
  build(): SpanTable {
    const n = this.#length;
    const { columns } = this;
    return {
      ...(Object.fromEntries(U32_COLUMNS.map((name) => [name, columns[name].subarray(0, n)])) as Record<
        U32Column,
        Uint32Array
      >),
      ...(Object.fromEntries(U8_COLUMNS.map((name) => [name, columns[name].subarray(0, n)])) as Record<
        U8Column,
        Uint8Array
      >),
      length: n,
      strings: this.strings,
      resources: this.#resources,
      scopes: this.#scopes,
      traceIds: this.#traces.texts(),
      attributeShapes: this.#shapes.build(),
      attributeShape: this.#attributeShape.subarray(0, n),
      attributeOffset: this.#attributeOffset.subarray(0, n + 1),
      attributeData: this.#attributeData.subarray(0, this.#attributeOffset[n]),
      numbers: this.#numbers.subarray(0, this.#numbersLength),
      links: this.#links,
      events: this.#events,
    };
  }

  #entry(key: number, type: number, data: number): void {
    const i = this.#pending++;
    if (i === this.#pendingKey.length) {
      this.#pendingKey = grown(this.#pendingKey, new Uint32Array(i * 2));
      this.#pendingType = grown(this.#pendingType, new Uint8Array(i * 2));
    }
    this.#pendingKey[i] = key;
    this.#pendingType[i] = type;
    const at = this.#values++;
    if (at === this.#attributeData.length) {
      this.#attributeData = grown(this.#attributeData, new Uint32Array(grownLength(at)));
    }
    this.#attributeData[at] = data;
  }

  #grow(length: number): void {
    this.#capacity = length;
    for (const name of U32_COLUMNS) this.columns[name] = grown(this.columns[name], new Uint32Array(length));
    for (const name of U8_COLUMNS) this.columns[name] = grown(this.columns[name], new Uint8Array(length));
    this.#attributeShape = grown(this.#attributeShape, new Uint32Array(length));
    this.#attributeOffset = grown(this.#attributeOffset, new Uint32Array(length + 1));
  }
}

type U32Column = (typeof U32_COLUMNS)[number];
const U32_COLUMNS = [
  'trace',
  'spanHi',
  'spanLo',
  'parentHi',
  'parentLo',
  'name',
  'startSec',
  'startNs',
  'endSec',
  'endNs',
  'resource',
  'scope',
  'traceState',
  'statusMessage',
] as const;

type U8Column = (typeof U8_COLUMNS)[number];
const U8_COLUMNS = ['kind', 'status', 'flags'] as const;

const NONE = [] as const;
const HEX16 = /^[0-9a-f]{16}$/;
const NS = 1_000_000_000n;

function setTime(unixNano: bigint, sec: Uint32Array, ns: Uint32Array, row: number): void {
  sec[row] = Number(unixNano / NS);
  ns[row] = Number(unixNano % NS);
}

function toResource(attributes: Attributes): Resource {
  const text = (key: string): string => {
    const value = attributes.get(key);
    return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
  };
  const id = text('service.instance.id');
  const host = text('host.name') || text('host.id');
  const pid = text('process.pid');
  return {
    service: text('service.name') || 'unknown_service',
    instance: id || (host || pid ? `${host}:${pid}` : ''),
    hasInstanceId: id !== '',
    attributes,
  };
}

function stableKey(attributes: Attributes): string {
  return encodeValue([...attributes].sort(([a], [b]) => (a < b ? -1 : 1)) as unknown as AttributeValue);
}

/** Shortens a list, and removes the entries that point beyond its end. */
function dropFrom(ids: Map<string, number>, list: unknown[], length: number): void {
  if (list.length === length) return;
  list.length = length;
  for (const [key, index] of ids) if (index >= length) ids.delete(key);
}

/** Small tables double; large ones grow by half, for memory is what limits them. */
function grownLength(length: number): number {
  return length < 1 << 20 ? length * 2 : Math.ceil(length * 1.5);
}
