import { collectGarbage } from '../model/garbage.ts';
import { grown } from '../model/growing.ts';

/** The columns of a list, to be handed to another thread; they may be longer than the list. */
export interface PackedRecords {
  readonly length: number;
  readonly columns: Record<string, Column>;
}

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
    if (this.#length === capacity) {
      const larger = Math.max(FIRST, capacity < MANY ? capacity * 2 : Math.ceil(capacity * 1.25));
      this.#eachColumn((column) => grown(column, madeLike(column, larger)));
    }
    return this.#length++;
  }

  /** Makes room for so many records at once. Memory that is never written to costs nothing, growing by and by copies. */
  reserve(records: number): void {
    this.#eachColumn((column) =>
      column.length >= records ? column : grown(column, madeLike(column, records)),
    );
  }

  /** Puts record order[i] in place i, one column after the other. */
  reorder(order: Int32Array): void {
    this.#eachColumn((column) => {
      const moved = madeLike(column, order.length);
      for (let i = 0; i < order.length; i++) moved[i] = column[order[i]];
      return moved;
    });
    this.#length = order.length;
  }

  /** @returns the columns, which are not to be used here any more. */
  pack(): PackedRecords {
    const columns = Object.entries(this).filter((entry): entry is [string, Column] => isColumn(entry[1]));
    return { length: this.#length, columns: Object.fromEntries(columns) };
  }

  /** Takes the records of a list of the same kind, as they are, out of its columns. @returns the index of the first. */
  append({ length, columns }: PackedRecords): number {
    const first = this.#length;
    const own = this as unknown as Record<string, Column>;
    for (const [name, column] of Object.entries(columns)) {
      const isWider = column.BYTES_PER_ELEMENT > own[name].BYTES_PER_ELEMENT;
      if (isWider || own[name].length < first + length) {
        const wider = isWider ? column : own[name];
        own[name] = grown(own[name].subarray(0, first) as Column, madeLike(wider, first + length));
      }
      own[name].set(column.subarray(0, length), first);
      // The memory of one list is enough for both.
      columns[name] = madeLike(column, 0);
      collectGarbage(length / 10);
    }
    this.#length = first + length;
    return first;
  }

  /** Puts another column in the place of each. */
  #eachColumn(change: (column: Column) => Column): void {
    const columns = this as unknown as Record<string, unknown>;
    for (const [name, column] of Object.entries(columns))
      if (isColumn(column)) columns[name] = change(column);
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

type Column = Float32Array | Int32Array | Int16Array | Uint32Array | Uint16Array | Float64Array | Uint8Array;

function isColumn(value: unknown): value is Column {
  return (
    value instanceof Float32Array ||
    value instanceof Int32Array ||
    value instanceof Int16Array ||
    value instanceof Uint16Array ||
    value instanceof Uint32Array ||
    value instanceof Float64Array ||
    value instanceof Uint8Array
  );
}

function madeLike(column: Column, length: number): Column {
  return new (column.constructor as new (length: number) => Column)(length);
}

/** From here on memory counts for more than copying. */
const MANY = 1 << 18;

/** Capacity of a new list. */
export const FIRST = 256;
