import type { SpanTable } from '../model/span-table.ts';

/** Where a row ended up after repair. */
export const STATE = {
  /** Part of a tree: it can own time. */
  inTree: 0,
  /** An identical copy, or the losing copy of a conflict: as if it were not there. */
  dropped: 1,
  /** Broken times (or below such a span): no time, no tree. */
  quarantined: 2,
  /** A hold: an annotation beside the tree. */
  hold: 3,
  /** Ended after everything that could have waited for it: gated nobody, nor does its subtree. */
  detached: 4,
} as const;

/** Why a tree's root is a root. */
export type RootKind = 'true' | 'orphan' | 'cycle';

export interface Tree {
  /** Row of the root. */
  readonly root: number;
  readonly kind: RootKind;
  /** The tree's rows are order[first] .. order[first + count], the root first, parents before children. */
  readonly first: number;
  readonly count: number;
  /** Canonical id of the parent that is not in the input (orphans), else empty. */
  readonly missingParent: string;
}

/** A hold written as a span of its own (segment `hold`). */
export interface HoldSpan {
  readonly row: number;
  /** Row of the span it hangs under after repair; -1 when nothing in the input. */
  readonly owner: number;
}

/** One subtree moved for the clocks of two services (rule 5). */
export interface ClockOffset {
  readonly from: string;
  readonly to: string;
  readonly ns: number;
}

/** Clock offsets corrected between two services (rule 5). */
export interface SkewPair {
  readonly from: string;
  readonly to: string;
  readonly count: number;
  readonly medianOffsetNs: number;
}

export interface RepairCounters {
  readonly duplicates: number;
  readonly conflicts: number;
  readonly quarantined: number;
  readonly quarantinedSubtree: number;
  readonly cycles: number;
  readonly clamped: number;
  readonly adopted: number;
  /** Spans whose own end nothing covers (their subtrees go with them and are not counted again). */
  readonly detached: number;
  /** Time of detached spans, own intervals, ns. */
  readonly detachedNs: bigint;
  readonly abandoned: number;
  /** Time cut off children whose parent had given up (rules 7a, 7b), ns. */
  readonly abandonedNs: bigint;
  readonly skew: readonly SkewPair[];
}

/** The repaired trees of the whole input (docs/partition.md). All arrays are by row of the table. */
export interface Forest {
  readonly table: SpanTable;
  /** {@link STATE}. */
  readonly state: Uint8Array;
  /** Row of the parent after repair; -1 for roots and rows outside trees. For detached rows: the parent they left. */
  readonly parent: Int32Array;
  /** Index into `trees`; -1 for rows outside trees. Detached and hold rows carry the tree they were taken from. */
  readonly treeOf: Int32Array;
  /**
   * Start and end in ns relative to the *recorded start of the tree's root*, after clock-skew shift and clamping, not
   * clipped to the parent (the partition clips). Exact integers: a root lasts less than 2^53 ns (104 days), longer
   * spans are quarantined (rule 2), and times further than that from the root are cut to that bound.
   */
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** As `end`, but before any clamping: when the span itself says it ended (after clock-skew shift). */
  readonly recordedEnd: Float64Array;
  readonly trees: readonly Tree[];
  readonly order: Int32Array;
  readonly holds: readonly HoldSpan[];
  readonly counters: RepairCounters;
  readonly clockOffsets: readonly ClockOffset[];
}

export interface RepairOptions {
  /** Overrun that is clamped instead of examined, ns. Default 1 ms (OpenTelemetry JS floors starts to whole ms). */
  readonly toleranceNs: number;
  /** Turns clock-skew correction (rule 5) off. */
  readonly keepClocks: boolean;
}
