import type { AttributeBlock } from './attribute-columns.ts';
import type { AttributeShapes } from './attribute-shapes.ts';
import { grown } from './growing.ts';
import type { Resource, Scope, SpanEvent, SpanLink } from './span.ts';
import { columnsBy, type SpanColumns, type U32Column } from './span-columns.ts';
import type { TextBlock } from './strings.ts';
import type { TraceIdBlock } from './trace-ids.ts';

/** How much of each kind a table has numbered. */
export interface Counts {
  readonly strings: number;
  readonly traces: number;
  readonly shapes: number;
  readonly resources: number;
  readonly scopes: number;
}

/**
 * Rows read into one table and to be appended to another, in another thread perhaps: the columns as they are, and what
 * their numbers mean as far as no block before has said it.
 */
export interface TableBlock {
  /** Holds all columns; may be handed over. */
  readonly buffer: ArrayBuffer;
  /** Numbers below these were told by blocks before. */
  readonly since: Counts;
  readonly strings: TextBlock;
  readonly traces: TraceIdBlock;
  readonly shapes: AttributeShapes;
  readonly resources: readonly Resource[];
  readonly scopes: readonly Scope[];
  readonly columns: SpanColumns;
  readonly attributes: AttributeBlock;
  /** By row of the block. */
  readonly links: readonly (readonly [number, readonly SpanLink[]])[];
  readonly events: readonly (readonly [number, readonly SpanEvent[]])[];
}

/** @returns all memory of a block worth handing over instead of copying. */
export function buffersOf({ buffer, strings, traces }: TableBlock): ArrayBuffer[] {
  return [
    buffer,
    ...[strings.length, strings.hash, strings.bytes, traces.words].map((part) => part.buffer as ArrayBuffer),
  ];
}

/** What the numbers of one table mean in another; it grows with each block. */
export class BlockMaps {
  strings: Uint32Array = new Uint32Array(1024);
  traces: Uint32Array = new Uint32Array(1024);
  shapes: Uint32Array = new Uint32Array(64);
  resources: Uint32Array = new Uint32Array(64);
  scopes: Uint32Array = new Uint32Array(64);

  /** Room for what a block adds. */
  makeRoom({ since, strings, traces, shapes, resources, scopes }: TableBlock): void {
    this.strings = roomFor(this.strings, since.strings + strings.length.length);
    this.traces = roomFor(this.traces, since.traces + traces.words.length / 4);
    this.shapes = roomFor(this.shapes, since.shapes + shapes.offset.length);
    this.resources = roomFor(this.resources, since.resources + resources.length);
    this.scopes = roomFor(this.scopes, since.scopes + scopes.length);
  }

  /** @returns the map of a column's numbers; null where they are values. */
  of(column: U32Column): Uint32Array | null {
    switch (column) {
      case 'trace':
        return this.traces;
      case 'resource':
        return this.resources;
      case 'scope':
        return this.scopes;
      case 'name':
      case 'traceState':
      case 'statusMessage':
        return this.strings;
      default:
        return null;
    }
  }
}

function roomFor(map: Uint32Array, length: number): Uint32Array {
  return length <= map.length ? map : grown(map, new Uint32Array(Math.max(length, map.length * 2)));
}

/** Copies columns side by side into one buffer; numbers of 8 bytes first, of one byte last. */
export class BlockPacker {
  readonly buffer: ArrayBuffer;
  #at = 0;

  constructor(bytes: number, buffer: ArrayBuffer | null) {
    this.buffer = buffer !== null && buffer.byteLength >= bytes ? buffer : new ArrayBuffer(bytes * 1.25 + 8);
  }

  f64(column: Float64Array, length: number): Float64Array {
    return this.#copy(new Float64Array(this.buffer, this.#at, length), column);
  }

  u32(column: Uint32Array, length: number): Uint32Array {
    return this.#copy(new Uint32Array(this.buffer, this.#at, length), column);
  }

  #u8(column: Uint8Array, length: number): Uint8Array {
    return this.#copy(new Uint8Array(this.buffer, this.#at, length), column);
  }

  columns(columns: SpanColumns, rows: number): SpanColumns {
    return columnsBy(
      (name) => this.u32(columns[name], rows),
      (name) => this.#u8(columns[name], rows),
    );
  }

  #copy<T extends Float64Array | Uint32Array | Uint8Array>(target: T, column: T): T {
    target.set(column.subarray(0, target.length));
    this.#at += target.byteLength;
    return target;
  }
}
