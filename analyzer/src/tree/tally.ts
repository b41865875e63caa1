import { startUnixNano } from '../model/span-table.ts';
import { skewPairs } from './clock-skew.ts';
import { type ClockOffset, type Forest, type RepairCounters, STATE } from './types.ts';

/** How much an input holds, and what its repair counted. */
export interface Tally {
  readonly spanRecords: number;
  /** Without the copies that were dropped. */
  readonly spans: number;
  readonly traces: number;
  readonly trees: number;
  /** Trees with a true root. */
  readonly trueRoots: number;
  readonly orphanRoots: number;
  /** Earliest and latest start of a root, epoch ns; null without trees. */
  readonly firstUnixNano: bigint | null;
  readonly lastUnixNano: bigint | null;
  readonly counters: RepairCounters;
}

/** @returns the tally of trees that are all of an input. */
export function tallyOf(forest: Forest): Tally {
  const sum = new TallySum();
  sum.add(forest);
  return sum.total();
}

export interface PackedTally {
  readonly sum: Tally;
  readonly offsets: readonly ClockOffset[];
}

/** Adds up the tallies of the parts of an input. */
export class TallySum {
  #sum: Tally = EMPTY;
  readonly #offsets: ClockOffset[] = [];

  add({ table, state, trees, counters, clockOffsets }: Forest): void {
    let spans = 0;
    for (let row = 0; row < table.length; row++) if (state[row] !== STATE.dropped) spans++;
    // Trees stand in order of their start.
    const [first, last] = [trees[0], trees[trees.length - 1]].map((tree) =>
      tree === undefined ? null : startUnixNano(table, tree.root),
    );
    this.merge({
      sum: {
        spanRecords: table.length,
        spans,
        traces: table.traceIds.length,
        trees: trees.length,
        trueRoots: trees.filter((tree) => tree.kind === 'true').length,
        orphanRoots: trees.filter((tree) => tree.kind === 'orphan').length,
        firstUnixNano: first,
        lastUnixNano: last,
        counters,
      },
      offsets: clockOffsets,
    });
  }

  /** To be handed to another thread. */
  pack(): PackedTally {
    return { sum: this.#sum, offsets: this.#offsets };
  }

  /** Adds the tallies of other parts. */
  merge({ sum, offsets }: PackedTally): void {
    const before = this.#sum;
    for (const offset of offsets) this.#offsets.push(offset);
    this.#sum = {
      spanRecords: before.spanRecords + sum.spanRecords,
      spans: before.spans + sum.spans,
      traces: before.traces + sum.traces,
      trees: before.trees + sum.trees,
      trueRoots: before.trueRoots + sum.trueRoots,
      orphanRoots: before.orphanRoots + sum.orphanRoots,
      firstUnixNano: earlier(before.firstUnixNano, sum.firstUnixNano),
      lastUnixNano: later(before.lastUnixNano, sum.lastUnixNano),
      counters: added(before.counters, sum.counters),
    };
  }

  total(): Tally {
    return { ...this.#sum, counters: { ...this.#sum.counters, skew: skewPairs(this.#offsets) } };
  }
}

function earlier(a: bigint | null, b: bigint | null): bigint | null {
  return a === null || (b !== null && b < a) ? b : a;
}

function later(a: bigint | null, b: bigint | null): bigint | null {
  return a === null || (b !== null && b > a) ? b : a;
}

function added(a: RepairCounters, b: RepairCounters): RepairCounters {
  return {
    duplicates: a.duplicates + b.duplicates,
    conflicts: a.conflicts + b.conflicts,
    quarantined: a.quarantined + b.quarantined,
    quarantinedSubtree: a.quarantinedSubtree + b.quarantinedSubtree,
    cycles: a.cycles + b.cycles,
    clamped: a.clamped + b.clamped,
    adopted: a.adopted + b.adopted,
    detached: a.detached + b.detached,
    detachedNs: a.detachedNs + b.detachedNs,
    abandoned: a.abandoned + b.abandoned,
    abandonedNs: a.abandonedNs + b.abandonedNs,
    skew: [],
  };
}

const EMPTY: Tally = {
  spanRecords: 0,
  spans: 0,
  traces: 0,
  trees: 0,
  trueRoots: 0,
  orphanRoots: 0,
  firstUnixNano: null,
  lastUnixNano: null,
  counters: {
    duplicates: 0,
    conflicts: 0,
    quarantined: 0,
    quarantinedSubtree: 0,
    cycles: 0,
    clamped: 0,
    adopted: 0,
    detached: 0,
    detachedNs: 0n,
    abandoned: 0,
    abandonedNs: 0n,
    skew: [],
  },
};
