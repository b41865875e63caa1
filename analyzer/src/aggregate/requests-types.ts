import type { RequestOutcome } from '../classify/types.ts';

/**
 * The requests of an input (trees with a true root), one column a field, ordered by root start.
 * Where an input has no true root at all, its orphan and cycle trees stand in (`substitutes`).
 */
export interface Requests {
  readonly count: number;
  /** Epoch ns of the earliest root start: all other times are ns relative to it (exact integers for 104 days). */
  readonly originUnixNano: bigint;
  /** Index into `forest.trees`. */
  readonly tree: Int32Array;
  readonly startNs: Float64Array;
  readonly durationNs: Float64Array;
  /** Index into REQUEST_OUTCOMES. */
  readonly outcome: Uint8Array;
  /** Index into `routes`. */
  readonly route: Int32Array;
  readonly routes: readonly string[];
  /** How many requests this one stands for (sampling), >= 1. */
  readonly weight: Float64Array;
  /** Requests that a tail sampler chose without saying for how many they stand: their weight is 1 for want of better. */
  readonly chosenWithoutWeight: number;
  /** Index of the window its root starts in; -1 outside every window. */
  readonly window: Int32Array;
  readonly outcomes: readonly RequestOutcome[];
  /** True when no tree had a true root and others were used instead. */
  readonly substitutes: boolean;
}
