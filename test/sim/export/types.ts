import type { AttributeValue } from '../../../analyzer/src/model/attributes.ts';

/** How a run is turned into an export. */
export interface ExportOptions {
  /**
   * `waitfall`: our spans and the official root and CLIENT spans; `both`: with the wrappers the official packages add;
   * `official`: only what the official packages emit.
   */
  readonly spans: 'waitfall' | 'both' | 'official';
  /** Whether capacities are stated. */
  readonly capacities: boolean;
  /** `milliseconds`: starts of official spans floored, their length kept; `jitter`: every time off by up to 50 µs. */
  readonly clock: 'exact' | 'jitter' | 'milliseconds';
  readonly sampling: Sampling;
  /** Whether HTTP servers export spans of their own, with a clock of their own. */
  readonly remote: 'hidden' | 'instrumented';
  /** Share of export batches that never arrived. */
  readonly lost: number;
  /** Loop waits and slices shorter than this are only in the sums of the root, 1 ms by default; 0: all are written. */
  readonly minSpanNs: number;
  readonly loadPlan: boolean;
}

export type Sampling =
  | { readonly kind: 'all' }
  /** Decided before anything is known; `tracestate` says at which rate. */
  | { readonly kind: 'head'; readonly rate: number }
  /** The slowest share and all errors are kept, the rest at a rate; `stated`: `tracestate` says so. */
  | { readonly kind: 'tail'; readonly rate: number; readonly slowShare: number; readonly stated: boolean };

export const FULL_EXPORT: ExportOptions = {
  spans: 'waitfall',
  capacities: true,
  clock: 'exact',
  sampling: { kind: 'all' },
  remote: 'hidden',
  lost: 0,
  minSpanNs: 0,
  loadPlan: true,
};

/** A span as it is written: light enough to keep all of a run. Times in simulated ns. */
export interface ExportSpan {
  readonly trace: number;
  readonly id: number;
  /** -1: root. */
  readonly parent: number;
  readonly name: string;
  /** KIND of the analyzer's model: the numbers of OTLP. */
  readonly kind: number;
  startNs: number;
  endNs: number;
  readonly failed: boolean;
  /** Replica, or (from the number of replicas on) remote server. */
  readonly process: number;
  readonly scope: string;
  readonly attributes: Map<string, AttributeValue>;
  /** Spans that held the lock meanwhile. */
  readonly blockedBy: readonly { readonly trace: number; readonly id: number }[];
  traceState: string;
}
