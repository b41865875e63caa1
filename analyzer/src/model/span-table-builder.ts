import { AttributeColumns, type AttributeMark } from './attribute-columns.ts';
import type { Attributes, AttributeValue } from './attributes.ts';
import { grownLength } from './growing.ts';
import { Numbered } from './numbered.ts';
import { stableKey, toResource } from './resources.ts';
import { type Memory, ownMemory } from './shared-memory.ts';
import type { Resource, Scope, SpanEvent, SpanLink, SpanRecord } from './span.ts';
import { encodeValue, FLAG } from './span-codes.ts';
import {
  firstRows,
  growColumns,
  newColumns,
  type SpanColumns,
  U8_COLUMNS,
  U32_COLUMNS,
} from './span-columns.ts';
import type { SpanTable } from './span-table.ts';
import { StringPool } from './strings.ts';
import { type BlockMaps, BlockPacker, type Counts, type TableBlock } from './table-block.ts';
import { TraceIds } from './trace-ids.ts';

/** A state of a {@link SpanTableBuilder} it can go back to. */
export interface BuilderMark {
  readonly rows: number;
  readonly attributes: AttributeMark;
  readonly traces: number;
  readonly resources: number;
  readonly scopes: number;
}

/** Grows typed columns as rows come in. Every reader feeds one of these and nothing else. */
export class SpanTableBuilder {
  readonly strings = new StringPool();
  /** Other arrays after {@link open}. */
  readonly columns: SpanColumns;
  readonly attributes: AttributeColumns;
  readonly #resources = new Numbered<Resource>();
  readonly #scopes = new Numbered<Scope>();
  readonly #traces = new TraceIds();
  readonly #links = new Map<number, readonly SpanLink[]>();
  readonly #events = new Map<number, readonly SpanEvent[]>();
  readonly #keepsAll: boolean;
  readonly #memory: Memory;
  /** Rows that room is made for beforehand, whatever is asked for. */
  reserveAtMost = Number.POSITIVE_INFINITY;
  #length = 0;
  #taken = 0;
  #capacity = FIRST_ROWS;

  /**
   * @param keep the attribute keys whose values are kept; null: all (events are kept only then).
   * @param memory what the columns lie in
   */
  constructor(keep: ReadonlySet<string> | null = null, memory: Memory = ownMemory) {
    this.#keepsAll = keep === null;
    this.#memory = memory;
    this.columns = newColumns(FIRST_ROWS, memory);
    this.attributes = new AttributeColumns(this.strings, keep, memory);
  }

  /**
   * Makes room for more rows and attribute values at once. Memory that is never written to costs nothing, growing by
   * and by costs copies.
   */
  reserve(rows: number, values: number): void {
    if (this.#taken > 0) return;
    const share = Math.min(1, this.reserveAtMost / rows);
    const room = this.#length + Math.ceil(rows * share);
    if (room > this.#capacity) this.#grow(room);
    this.attributes.reserveValues(Math.ceil(values * share));
  }

  /** Rows so far. */
  get length(): number {
    return this.#length;
  }

  /** Rows so far, with those taken out. */
  get total(): number {
    return this.#taken + this.#length;
  }

  /** @returns the index of a Resource; equal ones share an index. */
  resource(attributes: Attributes): number {
    return this.#resources.of(stableKey(attributes), () => toResource(attributes));
  }

  /** @returns the index of an instrumentation scope; equal ones share an index. */
  scope(name: string, version: string): number {
    return this.#scopes.of(`${name}\u0000${version}`, () => ({ name, version }));
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
    for (const [key, value] of span.attributes) this.attributes.add(this.strings.intern(key), value);
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
    this.attributes.open(this.#length);
    return this.#length;
  }

  /** The row opened last becomes part of the table, with the attributes added since. */
  close(row: number, links: readonly SpanLink[] = NONE, events: readonly SpanEvent[] = NONE): void {
    this.#length = row + 1;
    if (links.length > 0) this.#links.set(row, links);
    if (events.length > 0) {
      if (this.#keepsAll) this.#events.set(row, events);
      else this.attributes.dropOther(this.strings.hashOfText(eventsText(events)));
    }
    this.attributes.close(row);
  }

  /** @returns where the table stands, for {@link rollback}. */
  mark(): BuilderMark {
    return {
      rows: this.#length,
      attributes: this.attributes.mark(this.#length),
      traces: this.#traces.length,
      resources: this.#resources.list.length,
      scopes: this.#scopes.list.length,
    };
  }

  /** Takes back everything added since a mark (a record that turned out to be broken). Interned text stays. */
  rollback(mark: BuilderMark): void {
    for (let row = mark.rows; row < this.#length; row++) {
      this.#links.delete(row);
      this.#events.delete(row);
    }
    this.#length = mark.rows;
    this.attributes.rollback(mark.attributes);
    this.#traces.truncate(mark.traces);
    this.#resources.truncate(mark.resources);
    this.#scopes.truncate(mark.scopes);
  }

  /** What is numbered so far: a block holds what comes after. */
  get counts(): Counts {
    return {
      strings: this.strings.size,
      traces: this.#traces.length,
      shapes: this.attributes.shapes,
      resources: this.#resources.list.length,
      scopes: this.#scopes.list.length,
    };
  }

  /**
   * Takes all rows out, as a block another table can {@link append}; what they refer to by number stays here.
   * @param since what the blocks taken before hold already.
   * @param buffer to be used again; it is replaced where it is too small.
   */
  takeBlock(since: Counts, buffer: ArrayBuffer | null): TableBlock {
    const rows = this.#length;
    const bytes = this.attributes.packedBytes(rows) + rows * (U32_COLUMNS.length * 4 + U8_COLUMNS.length);
    const packer = new BlockPacker(bytes, buffer);
    const attributes = this.attributes.pack(rows, packer);
    const columns = packer.columns(this.columns, rows);
    const block = {
      buffer: packer.buffer,
      since,
      strings: this.strings.textsFrom(since.strings),
      traces: this.#traces.from(since.traces),
      shapes: this.attributes.shapesFrom(since.shapes),
      resources: this.#resources.list.slice(since.resources),
      scopes: this.#scopes.list.slice(since.scopes),
      columns,
      attributes,
      links: [...this.#links],
      events: [...this.#events],
    };
    this.#length = 0;
    this.#links.clear();
    this.#events.clear();
    this.attributes.clear();
    return block;
  }

  /** Adds the rows of a block. @param maps what the numbers of its table mean here, from the blocks before. */
  append(block: TableBlock, maps: BlockMaps): void {
    const { since, columns } = block;
    maps.makeRoom(block);
    this.strings.internBlock(block.strings, maps.strings, since.strings);
    this.#traces.addBlock(block.traces, maps.traces, since.traces);
    this.attributes.addShapes(block.shapes, maps, since.shapes);
    block.resources.forEach((resource, i) => {
      maps.resources[since.resources + i] = this.resource(resource.attributes);
    });
    block.scopes.forEach(({ name, version }, i) => {
      maps.scopes[since.scopes + i] = this.scope(name, version);
    });
    const row = this.#length;
    const rows = columns.trace.length;
    if (row + rows > this.#capacity) this.#grow(Math.max(row + rows, grownLength(this.#capacity)));
    for (const name of U32_COLUMNS) {
      const map = maps.of(name);
      if (map === null) this.columns[name].set(columns[name], row);
      else translate(columns[name], map, this.columns[name], row);
    }
    for (const name of U8_COLUMNS) this.columns[name].set(columns[name], row);
    for (let i = 0; i < rows; i++) {
      if (columns.flags[i] & FLAG.opaqueId) this.columns.spanLo[row + i] = maps.strings[columns.spanLo[i]];
      if (columns.flags[i] & FLAG.opaqueParent)
        this.columns.parentLo[row + i] = maps.strings[columns.parentLo[i]];
    }
    this.attributes.append(block.attributes, row, maps);
    for (const [i, links] of block.links) this.#links.set(row + i, links);
    for (const [i, events] of block.events) this.#events.set(row + i, events);
    this.#length = row + rows;
  }

  /** @returns the rows as they stand: they change with the next one added. */
  rows(): Omit<SpanTable, 'traceIds'> {
    const n = this.#length;
    return {
      ...firstRows(this.columns, n),
      length: n,
      strings: this.strings,
      resources: this.#resources.list,
      scopes: this.#scopes.list,
      ...this.attributes.build(n),
      links: this.#links,
      events: this.#events,
    };
  }

  /** Takes all rows out; traces and all else they refer to by number stays. No mark of before is valid any more. */
  takeOut(): void {
    this.#taken += this.#length;
    this.#length = 0;
    this.#links.clear();
    this.#events.clear();
    if (this.#capacity > ROWS_KEPT) {
      this.#capacity = ROWS_KEPT;
      Object.assign(this.columns, newColumns(ROWS_KEPT, this.#memory));
      this.attributes.shrink(ROWS_KEPT);
    }
    this.attributes.clear();
  }

  /** Gives up the room for rows: none is in, and none will come. */
  keepNoRoom(): void {
    this.#capacity = 0;
    Object.assign(this.columns, newColumns(0, this.#memory));
    this.attributes.shrink(0);
  }

  /** @returns the id of a trace, by its number, as canonical text. */
  traceId(trace: number): string {
    return this.#traces.text(trace);
  }

  /** @returns a hash of the id of a trace, by its number. */
  traceHash(trace: number): number {
    return this.#traces.hash(trace);
  }

  /**
   * @param traceIds by number; those of all traces by default
   * @returns the finished table; the builder must not be used afterwards.
   */
  build(traceIds: readonly string[] = this.#traces.texts()): SpanTable {
    return { ...this.rows(), traceIds };
  }

  #grow(length: number): void {
    this.#capacity = length;
    growColumns(this.columns, length, this.#memory);
    this.attributes.growRows(length);
  }
}

const FIRST_ROWS = 1024;
/** Room kept when rows are taken out. */
const ROWS_KEPT = 1 << 17;
const NONE = [] as const;
const HEX16 = /^[0-9a-f]{16}$/;
const NS = 1_000_000_000n;

function setTime(unixNano: bigint, sec: Uint32Array, ns: Uint32Array, row: number): void {
  sec[row] = Number(unixNano / NS);
  ns[row] = Number(unixNano % NS);
}

function translate(from: Uint32Array, map: Uint32Array, to: Uint32Array, at: number): void {
  for (let i = 0; i < from.length; i++) to[at + i] = map[from[i]];
}

function eventsText(events: readonly SpanEvent[]): string {
  const parts = events.map(({ timeUnixNano, name, attributes }) => [
    timeUnixNano,
    name,
    stableKey(attributes),
  ]);
  return encodeValue(parts as unknown as AttributeValue);
}
