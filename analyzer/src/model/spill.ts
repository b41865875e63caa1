import type { SpanTableBuilder } from './span-table-builder.ts';
import { SpilledRows } from './spilled-table.ts';
import type { TableParts } from './table-parts.ts';

/** Memory of the program itself, before it has read anything. */
const PROGRAM_BYTES = 90e6;
/** Memory a span takes while all of them are analysed together. */
const ANALYSED_BYTES = 400;
/** The same of those of one part: what is gathered from it is counted for itself. */
const PART_BYTES = 300;
/** Share of the memory that one part may take, and the rows that wait to be written. */
const PART_SHARE = 1 / 64;
const WAITING_SHARE = 1 / 16;
/** Larger blocks are not faster. */
const MOST_WAITING = 1 << 16;
/** More would make the blocks of each too small. */
const MOST_PARTS = 1024;
/** Where nobody knows how much will come. */
const PARTS_OF_UNKNOWN = 64;

/**
 * Keeps what is read within a memory limit: once more spans have come than can be analysed together, they and all that
 * follow go to a file, in parts that can be analysed one by one.
 */
export class Spill {
  readonly #builder: SpanTableBuilder;
  readonly #memoryBytes: number;
  readonly #totalBytes: number | null;
  #rows: SpilledRows | null = null;

  /** @param totalBytes of all files, null where that is not known */
  constructor(builder: SpanTableBuilder, memoryBytes: number, totalBytes: number | null) {
    this.#builder = builder;
    this.#memoryBytes = memoryBytes;
    this.#totalBytes = totalBytes;
    builder.reserveAtMost = this.#mostInMemory;
  }

  /**
   * To be called between records, where all rows are whole.
   *
   * @param bytesRead of the files so far
   */
  between(bytesRead: number): void {
    const { length } = this.#builder;
    if (length <= (this.#rows === null ? this.#mostInMemory : this.#mostWaiting)) return;
    const expected =
      this.#totalBytes === null
        ? null
        : (length * Math.max(this.#totalBytes, bytesRead)) / Math.max(1, bytesRead);
    this.#write(expected);
  }

  /** @returns the parts of the input; null where all of it is in the builder. */
  finish(): TableParts | null {
    const { length } = this.#builder;
    if (this.#rows === null && length <= this.#mostInMemory) return null;
    const rows = this.#write(length);
    this.#builder.keepNoRoom();
    const empty = this.#builder.build([]);
    const { traces } = this.#builder.counts;
    return rows.parts(empty, traces, (trace) => this.#builder.traceId(trace));
  }

  /** Lets go of the file: nothing will come of it. */
  close(): void {
    this.#rows?.close();
    this.#rows = null;
  }

  get #mostInMemory(): number {
    return Math.max(0, (this.#memoryBytes - PROGRAM_BYTES) / ANALYSED_BYTES);
  }

  get #mostWaiting(): number {
    return Math.min(MOST_WAITING, (this.#memoryBytes * WAITING_SHARE) / PART_BYTES);
  }

  /**
   * Takes all rows out of the builder.
   *
   * @param expected rows of the whole input, if it goes on as it began; null where nobody knows
   */
  #write(expected: number | null): SpilledRows {
    this.#rows ??= new SpilledRows(this.#partsOf(expected), (trace) => this.#builder.traceHash(trace));
    this.#rows.write(this.#builder.rows());
    this.#builder.takeOut();
    return this.#rows;
  }

  #partsOf(expected: number | null): number {
    if (expected === null) return PARTS_OF_UNKNOWN;
    const rowsOfPart = Math.max(1, (this.#memoryBytes * PART_SHARE) / PART_BYTES);
    return Math.min(MOST_PARTS, Math.max(2, Math.ceil(expected / rowsOfPart)));
  }
}
