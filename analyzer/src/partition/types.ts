/** By row: the contiguous part of the root's interval handed to a span and its children, ns relative to the root's start. */
export interface Gates {
  readonly gateStart: Float64Array;
  readonly gateEnd: Float64Array;
}

/** Who owned each instant of each tree (docs/partition.md). All arrays are by row; rows outside trees are 0. */
export interface Partition {
  /** ns owned by the span itself: |gate| minus the children's gates. Sums to the root's duration in each tree. */
  readonly owned: Float64Array;
  /** By tree: ns in which two or more gating children of one span were active ("parallel share" numerator). */
  readonly parallel: Float64Array;
  /** Computed where somebody asks: a report needs only what is owned. */
  readonly gates: () => Gates;
}

/** One stretch of a tree's root interval and the span that owns it; ns relative to the root's start, half-open. */
export interface Piece {
  readonly row: number;
  readonly start: number;
  readonly end: number;
}
