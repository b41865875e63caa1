import { borrowInt32, giveBack } from '../model/scratch.ts';
import { FLAG, type SpanTable } from '../model/span-table.ts';

/**
 * Rows by (trace, span id), rows of one id chained in input order.
 *
 * Open addressing over the id columns, one small region a trace: the rows of a trace stand close together in the input,
 * and so do their entries.
 */
export class SpanIndex {
  readonly #table: SpanTable;
  readonly #slots: Int32Array;
  /** Where a trace's region begins; its size, a power of two, is the distance to the next. */
  readonly #region: Int32Array;
  readonly #next: Int32Array;
  readonly #isRepeat: Uint8Array;

  constructor(table: SpanTable) {
    this.#table = table;
    this.#region = regions(table);
    this.#slots = borrowInt32(this.#region[table.traceIds.length]).fill(-1);
    this.#next = borrowInt32(table.length);
    this.#isRepeat = new Uint8Array(table.length);
    // Backwards, prepending: each chain then stands in input order.
    for (let row = table.length - 1; row >= 0; row--) {
      const slot = this.#slotOf(row);
      const later = this.#slots[slot];
      this.#next[row] = later;
      if (later >= 0) this.#isRepeat[later] = 1;
      this.#slots[slot] = row;
    }
  }

  /** Ends the use of the index. */
  giveBack(): void {
    giveBack(this.#slots, this.#next);
  }

  /** @returns whether an earlier row carries the same id. */
  isRepeat(row: number): boolean {
    return this.#isRepeat[row] === 1;
  }

  /** @returns the first row that carries this row's own id. */
  first(row: number): number {
    return this.#slots[this.#slotOf(row)];
  }

  /** @returns the first row that carries this row's parent id in the same trace; -1 when there is none. */
  firstOfParent(row: number): number {
    const t = this.#table;
    if (t.flags[row] & FLAG.noParent) return -1;
    const opaque = t.flags[row] & FLAG.opaqueParent ? FLAG.opaqueId : 0;
    return this.#slots[this.#find(t.trace[row], t.parentHi[row], t.parentLo[row], opaque)];
  }

  /** @returns the next row with the same id, in input order; -1 after the last. */
  next(row: number): number {
    return this.#next[row];
  }

  #slotOf(row: number): number {
    const t = this.#table;
    return this.#find(t.trace[row], t.spanHi[row], t.spanLo[row], t.flags[row] & FLAG.opaqueId);
  }

  #find(trace: number, hi: number, lo: number, opaque: number): number {
    const t = this.#table;
    const from = this.#region[trace];
    const mask = this.#region[trace + 1] - from - 1;
    let at = hash(hi, lo) & mask;
    for (;;) {
      const row = this.#slots[from + at];
      if (row < 0) return from + at;
      if (t.spanLo[row] === lo && t.spanHi[row] === hi && (t.flags[row] & FLAG.opaqueId) === opaque) {
        return from + at;
      }
      at = (at + 1) & mask;
    }
  }
}

/** At least two slots a row of the trace, so that a search always ends. */
function regions(table: SpanTable): Int32Array {
  const traces = table.traceIds.length;
  const region = new Int32Array(traces + 1);
  for (let row = 0; row < table.length; row++) region[table.trace[row] + 1]++;
  for (let trace = 0; trace < traces; trace++) {
    let size = 2;
    while (size < 2 * region[trace + 1]) size *= 2;
    region[trace + 1] = region[trace] + size;
  }
  return region;
}

function hash(hi: number, lo: number): number {
  let h = Math.imul(hi, 0xc2b2ae35) ^ Math.imul(lo, 0x27d4eb2f);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return (h ^ (h >>> 15)) >>> 0;
}
