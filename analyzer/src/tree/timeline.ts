import { borrowInt32, giveBack } from '../model/scratch.ts';
import { type SpanTable, startUnixNano } from '../model/span-table.ts';
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
  /** Positions of anchors that lie beyond the bound. */
  readonly #farAnchors = new Map<number, bigint>();

  constructor(table: SpanTable) {
    this.#table = table;
    this.start = new Float64Array(table.length);
    this.end = new Float64Array(table.length);
    this.#anchor = borrowInt32(table.length).fill(-1);
  }

  /** Places the root of a tree: its start is position 0. */
  placeRoot(row: number): void {
    this.#anchorAt(row, 0);
  }

  /** Places a row by the anchor of another row, as recorded. */
  placeLike(row: number, other: number): void {
    const anchor = this.#anchor[other];
    this.#anchor[row] = anchor;
    const t = this.#table;
    const after = difference(t.startSec[row], t.startNs[row], t.startSec[anchor], t.startNs[anchor]);
    const isExact = Number.isSafeInteger(after) && !this.#farAnchors.has(anchor);
    this.#put(row, isExact ? this.start[anchor] + after : Number(this.#exactStart(row)));
  }

  /** Moves a row, and what is placed like it from here on, to start together with another row. */
  moveToStart(row: number, other: number): void {
    if (isNear(this.start[other])) this.#anchorAt(row, this.start[other]);
    else this.#anchorFar(row, this.#exactStart(other));
  }

  /** Moves a row, and what is placed like it from here on, to end together with another row. */
  moveToEnd(row: number, other: number): void {
    const duration = durationNs(this.#table, row);
    const start = this.end[other] - duration;
    if (isNear(this.end[other]) && isNear(start)) this.#anchorAt(row, start);
    else this.#anchorFar(row, this.#exactEnd(other) - BigInt(duration));
  }

  /** @returns by how many ns the start of `a` lies after that of `b`; negative: before. */
  startAfter(a: number, b: number): number {
    if (isNear(this.start[a]) && isNear(this.start[b])) return this.start[a] - this.start[b];
    return Number(this.#exactStart(a) - this.#exactStart(b));
  }

  /** @returns by how many ns the end of `a` lies after that of `b`; negative: before. */
  endAfter(a: number, b: number): number {
    if (isNear(this.end[a]) && isNear(this.end[b])) return this.end[a] - this.end[b];
    return Number(this.#exactEnd(a) - this.#exactEnd(b));
  }

  /** @returns the part of `row` that lies after the end of `other`, ns. */
  beyondEnd(row: number, other: number): bigint {
    const otherEnd = this.#exactEnd(other);
    const start = this.#exactStart(row);
    const end = this.#exactEnd(row);
    if (start >= otherEnd) return end - start;
    return end > otherEnd ? end - otherEnd : 0n;
  }

  /** Nothing is placed any more, and nothing far compared. */
  giveBack(): void {
    giveBack(this.#anchor);
  }

  #anchorAt(row: number, start: number): void {
    this.#anchor[row] = row;
    this.#put(row, start);
  }

  #anchorFar(row: number, start: bigint): void {
    this.#anchor[row] = row;
    this.#farAnchors.set(row, start);
    this.#put(row, Number(start));
  }

  #put(row: number, start: number): void {
    this.start[row] = bounded(start);
    const isExact = Number.isSafeInteger(start);
    this.end[row] = bounded(isExact ? start + durationNs(this.#table, row) : Number(this.#exactEnd(row)));
  }

  #exactStart(row: number): bigint {
    const anchor = this.#anchor[row];
    const at = this.#farAnchors.get(anchor) ?? BigInt(this.start[anchor]);
    return at + startUnixNano(this.#table, row) - startUnixNano(this.#table, anchor);
  }

  #exactEnd(row: number): bigint {
    return this.#exactStart(row) + BigInt(durationNs(this.#table, row));
  }
}

function isNear(position: number): boolean {
  return position > -MAX_NS && position < MAX_NS;
}

function bounded(position: number): number {
  return Math.max(-MAX_NS, Math.min(MAX_NS, position));
}
