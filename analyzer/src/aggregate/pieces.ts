import { compareSpanIds } from '../model/span-table.ts';
import type { Piece } from '../partition/types.ts';
import { type Forest, STATE, type Tree } from '../tree/types.ts';

/** Children of the rows of one tree. */
export class Children {
  readonly #forest: Forest;
  readonly #first = new Map<number, number[]>();

  constructor(forest: Forest, tree: Tree, detached: readonly number[] = NONE) {
    this.#forest = forest;
    for (let i = tree.first + 1; i < tree.first + tree.count; i++) {
      const row = forest.order[i];
      const parent = forest.parent[row];
      const list = this.#first.get(parent);
      if (list) list.push(row);
      else this.#first.set(parent, [row]);
    }
    // A detached subtree keeps its own inner order, but no longer hangs under the span it outlived.
    for (const row of detached) {
      const parent = forest.parent[row];
      if (parent < 0 || forest.state[parent] !== STATE.detached) continue;
      const list = this.#first.get(parent);
      if (list) list.push(row);
      else this.#first.set(parent, [row]);
    }
  }

  of(row: number): readonly number[] {
    return this.#first.get(row) ?? NONE;
  }

  /**
   * The convention's partition of one span's whole interval (design: "The partition"), as if that span were the root:
   * disjoint stretches with the span that owns each, in order of time. What a hold contains is read from the pieces
   * of the span it hangs under, so that parallel branches are not counted twice.
   */
  piecesUnder(host: number): Piece[] {
    const { start, end } = this.#forest;
    const out: Piece[] = [];
    const stack: Gate[] = [
      { row: host, start: start[host], end: end[host], clipStart: start[host], clipEnd: end[host] },
    ];
    while (stack.length > 0) {
      const gate = stack.pop()!;
      const inner = this.#gates(gate);
      let at = gate.start;
      for (const child of inner) {
        if (child.start > at) out.push({ row: gate.row, start: at, end: child.start });
        at = child.end;
        stack.push(child);
      }
      if (gate.end > at) out.push({ row: gate.row, start: at, end: gate.end });
    }
    return out.sort((a, b) => a.start - b.start);
  }

  /** Gates of the children that own part of their parent's gate, in order of time. */
  #gates(parent: Gate): Gate[] {
    const { start, end, table } = this.#forest;
    const ranked = this.of(parent.row)
      .map((row) => ({
        row,
        clipStart: Math.max(start[row], parent.clipStart),
        clipEnd: Math.min(end[row], parent.clipEnd),
      }))
      .filter((child) => child.clipEnd > child.clipStart)
      .sort(
        (a, b) => b.clipEnd - a.clipEnd || b.clipStart - a.clipStart || compareSpanIds(table, a.row, b.row),
      );
    const gates: Gate[] = [];
    let cap = Number.POSITIVE_INFINITY;
    for (const child of ranked) {
      const from = Math.max(child.clipStart, parent.start);
      const to = Math.min(child.clipEnd, cap, parent.end);
      if (to > from) gates.push({ ...child, start: from, end: to });
      cap = Math.min(cap, child.clipStart);
    }
    return gates.reverse();
  }
}

interface Gate {
  readonly row: number;
  /** The stretch handed to this span. */
  readonly start: number;
  readonly end: number;
  /** Its own interval, clipped to its ancestors'. */
  readonly clipStart: number;
  readonly clipEnd: number;
}

const NONE: readonly number[] = [];
