import { endUnixNano, type SpanTable, startUnixNano } from '../model/span-table.ts';
import { difference, durationNs, MAX_NS } from './epoch.ts';

/**
 * Recorded intervals of all rows in ns relative to the recorded start of their tree's root.
 *
 * Each row is placed by an anchor: a span whose start has a known position (the root at 0, or the top of a subtree
 * that was moved). Differences are taken against the anchor, so that even a clock that is decades off leaves exact
 * positions once its subtree is moved.
 *
 * Positions more than 2^53 ns (104 days) from the root are cut to that bound in the columns: no root lasts as long,
 * so such a time is before or after all of the tree either way. Comparisons between two such rows use bigint.
 */
export class Timeline {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly #table: SpanTable;
  readonly #anchor: Int32Array;
  readonly #anchorStart: Float64Array;

  constructor(table: SpanTable) {
    this.#table = table;
    this.start = new Float64Array(table.length);
    this.end = new Float64Array(table.length);
    this.#anchor = new Int32Array(table.length).fill(-1);
    this.#anchorStart = new Float64Array(table.length);
  }

  /** Makes a row the anchor of what is placed under it: its start stands at `startNs`. */
  anchor(row: number, startNs: number): void {
    this.#place(row, row, startNs);
  }

  /** Places a row by the anchor of another row. */
  placeLike(row: number, other: number): void {
    this.#place(row, this.#anchor[other], this.#anchorStart[other]);
  }

  /** @returns by how many ns the start of `a` lies after that of `b`; negative: before. */
  startAfter(a: number, b: number): number {
    const near = this.start[a] - this.start[b];
    if (this.#near(this.start[a]) && this.#near(this.start[b])) return near;
    return Number(
      this.#exact(startUnixNano(this.#table, a), a) - this.#exact(startUnixNano(this.#table, b), b),
    );
  }

  /** @returns by how many ns the end of `a` lies after that of `b`; negative: before. */
  endAfter(a: number, b: number): number {
    const near = this.end[a] - this.end[b];
    if (this.#near(this.end[a]) && this.#near(this.end[b])) return near;
    return Number(this.#exact(endUnixNano(this.#table, a), a) - this.#exact(endUnixNano(this.#table, b), b));
  }

  /** @returns the part of `row` that lies after the end of `other`, ns. */
  beyondEnd(row: number, other: number): bigint {
    const table = this.#table;
    const otherEnd = this.#exact(endUnixNano(table, other), other);
    const start = this.#exact(startUnixNano(table, row), row);
    const end = this.#exact(endUnixNano(table, row), row);
    if (start >= otherEnd) return end - start;
    return end > otherEnd ? end - otherEnd : 0n;
  }

  #place(row: number, anchor: number, anchorStart: number): void {
    const t = this.#table;
    const start =
      difference(t.startSec[row], t.startNs[row], t.startSec[anchor], t.startNs[anchor]) + anchorStart;
    this.#anchor[row] = anchor;
    this.#anchorStart[row] = anchorStart;
    this.start[row] = bounded(start);
    this.end[row] = bounded(start + durationNs(t, row));
  }

  #near(position: number): boolean {
    return position > -MAX_NS && position < MAX_NS;
  }

  /** An epoch time of a row, moved as its subtree was; only differences between rows of one tree mean anything. */
  #exact(unixNano: bigint, row: number): bigint {
    return unixNano - startUnixNano(this.#table, this.#anchor[row]) + BigInt(this.#anchorStart[row]);
  }
}

function bounded(position: number): number {
  return Math.max(-MAX_NS, Math.min(MAX_NS, position));
}
