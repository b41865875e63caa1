import { grown } from '../model/growing.ts';
import { borrowInt32, giveBack } from '../model/scratch.ts';
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
  readonly #bestFirst: (a: number, b: number) => number;
  /** Interval of the span being cut up, clipped to those of its ancestors up to the host. */
  #within = { start: 0, end: 0 };
  /**
   * Stretches still to be cut up, the earliest on top: a row, its gate, and its clipped interval; or ~row and a stretch
   * of it that nobody else owns.
   */
  #row = new Int32Array(64);
  #start = new Float64Array(64);
  #end = new Float64Array(64);
  #clipStart = new Float64Array(64);
  #clipEnd = new Float64Array(64);
  #depth = 0;

  /** A detached subtree keeps its own inner order, but no longer hangs under the span it outlived. */
  constructor(forest: Forest) {
    const { order, parent, state, table } = forest;
    const rows = table.length;
    const hangs = (row: number): boolean =>
      parent[row] >= 0 &&
      (state[row] === STATE.inTree ||
        (state[row] === STATE.detached && state[parent[row]] === STATE.detached));
    const offset = borrowInt32(rows + 1);
    for (let row = 0; row < rows; row++) if (hangs(row)) offset[parent[row] + 1]++;
    for (let row = 0; row < rows; row++) offset[row + 1] += offset[row];
    this.#rows = borrowInt32(offset[rows]);
    const at = borrowInt32(rows);
    at.set(offset.subarray(0, rows));
    for (const row of order) if (parent[row] >= 0) this.#rows[at[parent[row]]++] = row;
    for (let row = 0; row < rows; row++) {
      if (state[row] === STATE.detached && hangs(row)) this.#rows[at[parent[row]]++] = row;
    }
    giveBack(at);
    this.#forest = forest;
    this.#offset = offset;
    const { start, end } = forest;
    this.#bestFirst = (a, b) => {
      const within = this.#within;
      return (
        Math.min(end[b], within.end) - Math.min(end[a], within.end) ||
        Math.max(start[b], within.start) - Math.max(start[a], within.start) ||
        compareIds(table, a, b)
      );
    };
  }

  /** Ends the use of the lists. */
  giveBack(): void {
    giveBack(this.#offset, this.#rows);
  }

  /**
   * The partition of one span's whole interval (docs/partition.md), as if that span were the root:
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
    this.#depth = 0;
    this.#push(host, start[host], end[host], start[host], end[host]);
    while (this.#depth > 0) {
      const top = --this.#depth;
      const row = this.#row[top];
      if (row < 0) visit(~row, this.#start[top], this.#end[top]);
      else {
        this.#within.start = this.#clipStart[top];
        this.#within.end = this.#clipEnd[top];
        this.#cut(row, this.#start[top], this.#end[top]);
      }
    }
  }

  /** Puts the gates of the children, and what is left of the parent's between them, on the stack: the last one first. */
  #cut(parent: number, start: number, end: number): void {
    const forest = this.#forest;
    const within = this.#within;
    const from = this.#offset[parent];
    const to = this.#offset[parent + 1];
    if (to - from > 1) sortSlice(this.#rows, from, to, this.#bestFirst);
    let cap = Number.POSITIVE_INFINITY;
    let next = end;
    for (let i = from; i < to; i++) {
      const child = this.#rows[i];
      const clipStart = Math.max(forest.start[child], within.start);
      const clipEnd = Math.min(forest.end[child], within.end);
      if (clipEnd <= clipStart) continue;
      const gateStart = Math.max(clipStart, start);
      const gateEnd = Math.min(clipEnd, cap, end);
      cap = Math.min(cap, clipStart);
      if (gateEnd <= gateStart) continue;
      if (next > gateEnd) this.#push(~parent, gateEnd, next, 0, 0);
      this.#push(child, gateStart, gateEnd, clipStart, clipEnd);
      next = gateStart;
    }
    if (next > start) this.#push(~parent, start, next, 0, 0);
  }

  #push(row: number, start: number, end: number, clipStart: number, clipEnd: number): void {
    const at = this.#depth++;
    if (at === this.#row.length) this.#grow();
    this.#row[at] = row;
    this.#start[at] = start;
    this.#end[at] = end;
    this.#clipStart[at] = clipStart;
    this.#clipEnd[at] = clipEnd;
  }

  #grow(): void {
    const capacity = this.#row.length * 2;
    this.#row = grown(this.#row, new Int32Array(capacity));
    this.#start = grown(this.#start, new Float64Array(capacity));
    this.#end = grown(this.#end, new Float64Array(capacity));
    this.#clipStart = grown(this.#clipStart, new Float64Array(capacity));
    this.#clipEnd = grown(this.#clipEnd, new Float64Array(capacity));
  }
}
