import { FLAG, type SpanTable } from '../model/span-table.ts';

/** Rows by (trace, span id): open addressing over the id columns, rows of one id chained in input order. */
export class SpanIndex {
  readonly #table: SpanTable;
  readonly #slots: Int32Array;
  readonly #next: Int32Array;

  constructor(table: SpanTable) {
    this.#table = table;
    let size = 16;
    while (size < table.length * 2) size *= 2;
    this.#slots = new Int32Array(size).fill(-1);
    this.#next = new Int32Array(table.length).fill(-1);
    // Backwards, prepending: each chain then stands in input order.
    for (let row = table.length - 1; row >= 0; row--) {
      const slot = this.#slot(
        table.trace[row],
        table.spanHi[row],
        table.spanLo[row],
        table.flags[row] & FLAG.opaqueId,
      );
      this.#next[row] = this.#slots[slot];
      this.#slots[slot] = row;
    }
  }

  /** @returns the first row that carries this row's own id. */
  first(row: number): number {
    const t = this.#table;
    return this.#slots[this.#slot(t.trace[row], t.spanHi[row], t.spanLo[row], t.flags[row] & FLAG.opaqueId)];
  }

  /** @returns the first row that carries this row's parent id in the same trace; -1 when there is none. */
  firstOfParent(row: number): number {
    const t = this.#table;
    if (t.flags[row] & FLAG.noParent) return -1;
    const opaque = t.flags[row] & FLAG.opaqueParent ? FLAG.opaqueId : 0;
    return this.#slots[this.#slot(t.trace[row], t.parentHi[row], t.parentLo[row], opaque)];
  }

  /** @returns the next row with the same id, in input order; -1 after the last. */
  next(row: number): number {
    return this.#next[row];
  }

  #slot(trace: number, hi: number, lo: number, opaque: number): number {
    const t = this.#table;
    const mask = this.#slots.length - 1;
    let slot = hash(trace, hi, lo) & mask;
    for (;;) {
      const row = this.#slots[slot];
      if (row < 0) return slot;
      if (
        t.spanLo[row] === lo &&
        t.spanHi[row] === hi &&
        t.trace[row] === trace &&
        (t.flags[row] & FLAG.opaqueId) === opaque
      ) {
        return slot;
      }
      slot = (slot + 1) & mask;
    }
  }
}

function hash(trace: number, hi: number, lo: number): number {
  let h = Math.imul(trace ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(hi, 0xc2b2ae35) ^ Math.imul(lo, 0x27d4eb2f);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return (h ^ (h >>> 15)) >>> 0;
}
