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
