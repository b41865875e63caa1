import type { Piece } from '../partition/types.ts';
import { compareIds } from '../tree/shared-pair.ts';
import { sortSlice } from '../tree/sort-slice.ts';
import { type Forest, STATE } from '../tree/types.ts';

/** Children of every row of a forest, and what each span's interval is made of. */
export class Children {
  readonly #forest: Forest;
  /** Children of row r: rows[offset[r]] .. rows[offset[r + 1]]. */
  readonly #offset: Int32Array;
  readonly #rows: Int32Array;
  /** Intervals clipped to those of the ancestors, up to the host asked for last. */
  readonly #clipStart: Float64Array;
  readonly #clipEnd: Float64Array;
  readonly #bestFirst: (a: number, b: number) => number;
  /** Stretches still to be cut up, the earliest on top: a row and its gate, or ~row where nobody else owns part of it. */
  #row = new Int32Array(64);
  #start = new Float64Array(64);
  #end = new Float64Array(64);
  #depth = 0;

  /** A detached subtree keeps its own inner order, but no longer hangs under the span it outlived. */
  constructor(forest: Forest) {
    const { order, parent, state, table } = forest;
    const rows = table.length;
    const hangs = (row: number): boolean =>
      parent[row] >= 0 &&
      (state[row] === STATE.inTree ||
        (state[row] === STATE.detached && state[parent[row]] === STATE.detached));
    const offset = new Int32Array(rows + 1);
    for (let row = 0; row < rows; row++) if (hangs(row)) offset[parent[row] + 1]++;
    for (let row = 0; row < rows; row++) offset[row + 1] += offset[row];
    this.#rows = new Int32Array(offset[rows]);
    const at = offset.slice(0, rows);
    for (const row of order) if (parent[row] >= 0) this.#rows[at[parent[row]]++] = row;
    for (let row = 0; row < rows; row++) {
      if (state[row] === STATE.detached && hangs(row)) this.#rows[at[parent[row]]++] = row;
    }
    this.#forest = forest;
    this.#offset = offset;
    this.#clipStart = new Float64Array(rows);
    this.#clipEnd = new Float64Array(rows);
    this.#bestFirst = (a, b) =>
      this.#clipEnd[b] - this.#clipEnd[a] ||
      this.#clipStart[b] - this.#clipStart[a] ||
      compareIds(table, a, b);
  }

  /**
   * The convention's partition of one span's whole interval (design: "The partition"), as if that span were the root:
   * disjoint stretches with the span that owns each, in order of time. What a hold contains is read from the pieces
   * of the span it hangs under, so that parallel branches are not counted twice.
   */
  piecesUnder(host: number): Piece[] {
    const pieces: Piece[] = [];
    this.visitPieces(host, (row, start, end) => pieces.push({ row, start, end }));
    return pieces;
  }

  /** As {@link piecesUnder}, one call a piece. */
  visitPieces(host: number, visit: (row: number, start: number, end: number) => void): void {
    const { start, end } = this.#forest;
    this.#clipStart[host] = start[host];
    this.#clipEnd[host] = end[host];
    this.#depth = 0;
    this.#push(host, start[host], end[host]);
    while (this.#depth > 0) {
      const top = --this.#depth;
      const row = this.#row[top];
      if (row < 0) visit(~row, this.#start[top], this.#end[top]);
      else this.#cut(row, this.#start[top], this.#end[top]);
    }
  }

  /** Puts the gates of the children, and what is left of the parent's between them, on the stack: the last one first. */
  #cut(parent: number, start: number, end: number): void {
    const forest = this.#forest;
    const from = this.#offset[parent];
    const to = this.#offset[parent + 1];
    for (let i = from; i < to; i++) {
      const child = this.#rows[i];
      this.#clipStart[child] = Math.max(forest.start[child], this.#clipStart[parent]);
      this.#clipEnd[child] = Math.min(forest.end[child], this.#clipEnd[parent]);
    }
    if (to - from > 1) sortSlice(this.#rows, from, to, this.#bestFirst);
    let cap = Number.POSITIVE_INFINITY;
    let next = end;
    for (let i = from; i < to; i++) {
      const child = this.#rows[i];
      if (this.#clipEnd[child] <= this.#clipStart[child]) continue;
      const gateStart = Math.max(this.#clipStart[child], start);
      const gateEnd = Math.min(this.#clipEnd[child], cap, end);
      cap = Math.min(cap, this.#clipStart[child]);
      if (gateEnd <= gateStart) continue;
      if (next > gateEnd) this.#push(~parent, gateEnd, next);
      this.#push(child, gateStart, gateEnd);
      next = gateStart;
    }
    if (next > start) this.#push(~parent, start, next);
  }

  #push(row: number, start: number, end: number): void {
    const at = this.#depth++;
    if (at === this.#row.length) this.#grow();
    this.#row[at] = row;
    this.#start[at] = start;
    this.#end[at] = end;
  }

  #grow(): void {
    const [row, start, end] = [this.#row, this.#start, this.#end];
    this.#row = new Int32Array(row.length * 2);
    this.#row.set(row);
    this.#start = new Float64Array(start.length * 2);
    this.#start.set(start);
    this.#end = new Float64Array(end.length * 2);
    this.#end.set(end);
  }
}
