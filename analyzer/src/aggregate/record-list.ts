import { grown } from '../model/growing.ts';

/**
 * Records in columns: some forty bytes each, where objects take three times that and the collector's time. Those that
 * come out are made on the spot; loops over many read the columns.
 */
export abstract class RecordList<T> {
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** @returns a copy of record i. */
  abstract at(i: number): T;

  abstract push(record: T): void;

  /** @returns where the next record goes; the columns have room for it. */
  protected next(capacity: number): number {
    if (this.#length === capacity) this.grow(capacity * 2);
    return this.#length++;
  }

  protected abstract grow(capacity: number): void;

  /** Puts record order[i] in place i, one column after the other. */
  reorder(order: Int32Array): void {
    const columns = this as unknown as Record<string, unknown>;
    for (const [name, column] of Object.entries(columns)) {
      if (!isColumn(column)) continue;
      const moved = new (column.constructor as new (length: number) => Column)(order.length);
      for (let i = 0; i < order.length; i++) moved[i] = column[order[i]];
      columns[name] = moved;
    }
    this.#length = order.length;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let i = 0; i < this.#length; i++) yield this.at(i);
  }

  map<U>(make: (record: T, i: number) => U): U[] {
    return Array.from({ length: this.#length }, (_, i) => make(this.at(i), i));
  }

  filter(isWanted: (record: T) => boolean): T[] {
    const wanted: T[] = [];
    for (let i = 0; i < this.#length; i++) {
      const record = this.at(i);
      if (isWanted(record)) wanted.push(record);
    }
    return wanted;
  }
}

type Column = Int32Array | Float64Array | Uint8Array;

function isColumn(value: unknown): value is Column {
  return value instanceof Int32Array || value instanceof Float64Array || value instanceof Uint8Array;
}

/** Capacity of a new list. */
export const FIRST = 256;

export function grownInt32(column: Int32Array, capacity: number): Int32Array {
  return grown(column, new Int32Array(capacity));
}

export function grownFloat64(column: Float64Array, capacity: number): Float64Array {
  return grown(column, new Float64Array(capacity));
}

export function grownUint8(column: Uint8Array, capacity: number): Uint8Array {
  return grown(column, new Uint8Array(capacity));
}
