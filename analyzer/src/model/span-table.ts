import type { Attributes, AttributeValue } from './attributes.ts';
import type { Resource, Scope, SpanEvent, SpanLink, SpanRecord } from './span.ts';
import { StringPool } from './strings.ts';

/** Bits of {@link SpanTable.flags}. */
export const FLAG = {
  noStart: 1,
  noEnd: 2,
  followsFrom: 4,
  shared: 8,
  /** The span id (parent id) is not hex: its `lo` column is a string id. */
  opaqueId: 16,
  opaqueParent: 32,
  /** The span has no parent: a true root. */
  noParent: 64,
} as const;

/** How an attribute's value is stored in {@link SpanTable.attributeData}. */
const TYPE = { string: 0, number: 1, boolean: 2, json: 3 } as const;

/**
 * Every span record of the input, one row each in input order, one typed array a field.
 *
 * Times are epoch seconds and nanoseconds apart: two u32 are exact, a double is not beyond 2^53 ns.
 */
export interface SpanTable {
  readonly length: number;
  readonly strings: StringPool;
  readonly resources: readonly Resource[];
  readonly scopes: readonly Scope[];
  /** Trace ids as canonical text, by trace index. */
  readonly traceIds: readonly string[];
  /** Trace index of each row. */
  readonly trace: Uint32Array;
  readonly spanHi: Uint32Array;
  readonly spanLo: Uint32Array;
  readonly parentHi: Uint32Array;
  readonly parentLo: Uint32Array;
  /** String id of the span's name. */
  readonly name: Uint32Array;
  /** KIND and STATUS of model/span.ts. */
  readonly kind: Uint8Array;
  readonly status: Uint8Array;
  readonly flags: Uint8Array;
  readonly startSec: Uint32Array;
  readonly startNs: Uint32Array;
  readonly endSec: Uint32Array;
  readonly endNs: Uint32Array;
  readonly resource: Uint32Array;
  readonly scope: Uint32Array;
  /** String ids. */
  readonly traceState: Uint32Array;
  readonly statusMessage: Uint32Array;
  /** Attributes of row r are the entries attributeOffset[r] .. attributeOffset[r + 1]. */
  readonly attributeOffset: Uint32Array;
  readonly attributeKey: Uint32Array;
  readonly attributeType: Uint8Array;
  readonly attributeData: Float64Array;
  /** Rows without links (events) are absent. */
  readonly links: ReadonlyMap<number, readonly SpanLink[]>;
  readonly events: ReadonlyMap<number, readonly SpanEvent[]>;
}

/** A state of a {@link SpanTableBuilder} it can go back to. */
export interface BuilderMark {
  readonly rows: number;
  readonly entries: number;
  readonly traces: number;
  readonly resources: number;
  readonly scopes: number;
}

/** Grows typed columns as rows come in. Every reader feeds one of these and nothing else. */
export class SpanTableBuilder {
  readonly strings = new StringPool();
  readonly #resources: Resource[] = [];
  readonly #resourceIds = new Map<string, number>();
  readonly #scopes: Scope[] = [];
  readonly #scopeIds = new Map<string, number>();
  readonly #traceIds: string[] = [];
  readonly #traceIndex = new Map<string, number>();
  readonly #links = new Map<number, readonly SpanLink[]>();
  readonly #events = new Map<number, readonly SpanEvent[]>();
  #length = 0;
  #entries = 0;
  #u32: Record<U32Column, Uint32Array>;
  #kind = new Uint8Array(1024);
  #status = new Uint8Array(1024);
  #flags = new Uint8Array(1024);
  #attributeOffset = new Uint32Array(1025);
  #attributeKey = new Uint32Array(8192);
  #attributeType = new Uint8Array(8192);
  #attributeData = new Float64Array(8192);

  constructor() {
    this.#u32 = Object.fromEntries(U32_COLUMNS.map((name) => [name, new Uint32Array(1024)])) as Record<
      U32Column,
      Uint32Array
    >;
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

  /** Adds one span record. @returns its row. */
  add(span: SpanRecord): number {
    const row = this.#length;
    if (row === this.#kind.length) this.#grow();
    this.#length = row + 1;
    const u32 = this.#u32;
    let flags = (span.followsFrom ? FLAG.followsFrom : 0) | (span.shared ? FLAG.shared : 0);
    u32.trace[row] = this.#trace(span.traceId);
    if (this.#id(span.spanId, u32.spanHi, u32.spanLo, row)) flags |= FLAG.opaqueId;
    if (span.parentSpanId === '') {
      flags |= FLAG.noParent;
      u32.parentHi[row] = 0;
      u32.parentLo[row] = 0;
    } else if (this.#id(span.parentSpanId, u32.parentHi, u32.parentLo, row)) flags |= FLAG.opaqueParent;
    if (span.startUnixNano === null) flags |= FLAG.noStart;
    setTime(span.startUnixNano ?? 0n, u32.startSec, u32.startNs, row);
    if (span.endUnixNano === null) flags |= FLAG.noEnd;
    setTime(span.endUnixNano ?? 0n, u32.endSec, u32.endNs, row);
    u32.name[row] = this.strings.intern(span.name);
    u32.resource[row] = span.resource;
    u32.scope[row] = span.scope;
    u32.traceState[row] = this.strings.intern(span.traceState);
    u32.statusMessage[row] = this.strings.intern(span.statusMessage);
    this.#kind[row] = span.kind;
    this.#status[row] = span.statusCode;
    this.#flags[row] = flags;
    for (const [key, value] of span.attributes) this.#attribute(key, value);
    this.#attributeOffset[row + 1] = this.#entries;
    if (span.links.length > 0) this.#links.set(row, span.links);
    if (span.events.length > 0) this.#events.set(row, span.events);
    return row;
  }

  /** @returns where the table stands, for {@link rollback}. */
  mark(): BuilderMark {
    return {
      rows: this.#length,
      entries: this.#entries,
      traces: this.#traceIds.length,
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
    this.#entries = mark.entries;
    for (const id of this.#traceIds.splice(mark.traces)) this.#traceIndex.delete(id);
    this.#resources.length = mark.resources;
    this.#scopes.length = mark.scopes;
    dropFrom(this.#resourceIds, mark.resources);
    dropFrom(this.#scopeIds, mark.scopes);
  }

  /** @returns the finished table; the builder must not be used afterwards. */
  build(): SpanTable {
    const n = this.#length;
    const columns = Object.fromEntries(
      U32_COLUMNS.map((name) => [name, this.#u32[name].subarray(0, n)]),
    ) as Record<U32Column, Uint32Array>;
    return {
      ...columns,
      length: n,
      strings: this.strings,
      resources: this.#resources,
      scopes: this.#scopes,
      traceIds: this.#traceIds,
      kind: this.#kind.subarray(0, n),
      status: this.#status.subarray(0, n),
      flags: this.#flags.subarray(0, n),
      attributeOffset: this.#attributeOffset.subarray(0, n + 1),
      attributeKey: this.#attributeKey.subarray(0, this.#entries),
      attributeType: this.#attributeType.subarray(0, this.#entries),
      attributeData: this.#attributeData.subarray(0, this.#entries),
      links: this.#links,
      events: this.#events,
    };
  }

  #trace(id: string): number {
    let index = this.#traceIndex.get(id);
    if (index === undefined) {
      index = this.#traceIds.length;
      this.#traceIds.push(id);
      this.#traceIndex.set(id, index);
    }
    return index;
  }

  /** Writes an id to its two columns. @returns true when it is opaque text. */
  #id(id: string, hi: Uint32Array, lo: Uint32Array, row: number): boolean {
    if (HEX16.test(id)) {
      hi[row] = Number.parseInt(id.slice(0, 8), 16);
      lo[row] = Number.parseInt(id.slice(8), 16);
      return false;
    }
    hi[row] = 0;
    lo[row] = this.strings.intern(id);
    return true;
  }

  #attribute(key: string, value: AttributeValue): void {
    const i = this.#entries;
    if (i === this.#attributeKey.length) {
      this.#attributeKey = grown(this.#attributeKey, Uint32Array);
      this.#attributeType = grown(this.#attributeType, Uint8Array);
      this.#attributeData = grown(this.#attributeData, Float64Array);
    }
    this.#entries = i + 1;
    this.#attributeKey[i] = this.strings.intern(key);
    if (typeof value === 'string') {
      this.#attributeType[i] = TYPE.string;
      this.#attributeData[i] = this.strings.intern(value);
    } else if (typeof value === 'number') {
      this.#attributeType[i] = TYPE.number;
      this.#attributeData[i] = value;
    } else if (typeof value === 'boolean') {
      this.#attributeType[i] = TYPE.boolean;
      this.#attributeData[i] = value ? 1 : 0;
    } else {
      this.#attributeType[i] = TYPE.json;
      this.#attributeData[i] = this.strings.intern(encodeValue(value));
    }
  }

  #grow(): void {
    for (const name of U32_COLUMNS) this.#u32[name] = grown(this.#u32[name], Uint32Array);
    this.#kind = grown(this.#kind, Uint8Array);
    this.#status = grown(this.#status, Uint8Array);
    this.#flags = grown(this.#flags, Uint8Array);
    const offsets = new Uint32Array(this.#kind.length + 1);
    offsets.set(this.#attributeOffset);
    this.#attributeOffset = offsets;
  }
}

/** @returns the span id of a row as canonical text. */
export function spanIdText(table: SpanTable, row: number): string {
  if (table.flags[row] & FLAG.opaqueId) return table.strings.text(table.spanLo[row]);
  return hex16(table.spanHi[row], table.spanLo[row]);
}

/** @returns the parent id of a row as canonical text, empty for a true root. */
export function parentIdText(table: SpanTable, row: number): string {
  if (table.flags[row] & FLAG.noParent) return '';
  if (table.flags[row] & FLAG.opaqueParent) return table.strings.text(table.parentLo[row]);
  return hex16(table.parentHi[row], table.parentLo[row]);
}

/** Orders two rows by span id as text (design.md §3: the smaller id wins ties). */
export function compareSpanIds(table: SpanTable, a: number, b: number): number {
  if (!((table.flags[a] | table.flags[b]) & FLAG.opaqueId)) {
    return table.spanHi[a] - table.spanHi[b] || table.spanLo[a] - table.spanLo[b];
  }
  const x = spanIdText(table, a);
  const y = spanIdText(table, b);
  return x < y ? -1 : x > y ? 1 : 0;
}

/** @returns epoch ns of a row's start; 0n when it has none. */
export function startUnixNano(table: SpanTable, row: number): bigint {
  return BigInt(table.startSec[row]) * 1_000_000_000n + BigInt(table.startNs[row]);
}

/** @returns epoch ns of a row's end; 0n when it has none. */
export function endUnixNano(table: SpanTable, row: number): bigint {
  return BigInt(table.endSec[row]) * 1_000_000_000n + BigInt(table.endNs[row]);
}

/** @returns the value of an attribute, undefined when the row has none; of equal keys the last counts. */
export function attribute(table: SpanTable, row: number, key: string): AttributeValue | undefined {
  const id = table.strings.find(key);
  return id < 0 ? undefined : attributeById(table, row, id);
}

/** As {@link attribute}, with the key's string id looked up once by the caller. */
export function attributeById(table: SpanTable, row: number, keyId: number): AttributeValue | undefined {
  for (let i = table.attributeOffset[row + 1] - 1; i >= table.attributeOffset[row]; i--) {
    if (table.attributeKey[i] === keyId) return valueAt(table, i);
  }
  return undefined;
}

/** @returns all attributes of a row, in input order. */
export function attributes(table: SpanTable, row: number): Map<string, AttributeValue> {
  const all = new Map<string, AttributeValue>();
  for (let i = table.attributeOffset[row]; i < table.attributeOffset[row + 1]; i++) {
    all.set(table.strings.text(table.attributeKey[i]), valueAt(table, i));
  }
  return all;
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

const HEX16 = /^[0-9a-f]{16}$/;
const NS = 1_000_000_000n;

function hex16(hi: number, lo: number): string {
  return hi.toString(16).padStart(8, '0') + lo.toString(16).padStart(8, '0');
}

function setTime(unixNano: bigint, sec: Uint32Array, ns: Uint32Array, row: number): void {
  sec[row] = Number(unixNano / NS);
  ns[row] = Number(unixNano % NS);
}

function valueAt(table: SpanTable, entry: number): AttributeValue {
  const data = table.attributeData[entry];
  switch (table.attributeType[entry]) {
    case TYPE.string:
      return table.strings.text(data);
    case TYPE.number:
      return data;
    case TYPE.boolean:
      return data === 1;
    default:
      return decodeValue(table.strings.text(data));
  }
}

/** JSON with bigint as `{"$int":"…"}`: the pool stores text only. */
function encodeValue(value: AttributeValue): string {
  return JSON.stringify(value, (_key, v) => (typeof v === 'bigint' ? { $int: v.toString() } : v));
}

function decodeValue(text: string): AttributeValue {
  return JSON.parse(text, (_key, v) =>
    v !== null && typeof v === 'object' && typeof v.$int === 'string' ? BigInt(v.$int) : v,
  );
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

/** Removes the entries that point at or beyond an index; they are the last ones put in. */
function dropFrom(ids: Map<string, number>, index: number): void {
  for (const [key, value] of ids) if (value >= index) ids.delete(key);
}

function grown<T extends Uint32Array | Uint8Array | Float64Array>(
  column: T,
  Type: new (length: number) => T,
): T {
  const bigger = new Type(column.length * 2);
  bigger.set(column as never);
  return bigger;
}
