import type { SEGMENTS } from '@waitfall/instrumentation/conventions';

export type SegmentName = (typeof SEGMENTS)[number];

/** Kinds of queue a verdict can name. */
export const RESOURCE_KINDS = [
  'admission',
  'eventloop',
  'threadpool',
  'pool',
  'connection',
  'lock',
  'downstream',
] as const;
export type ResourceKind = (typeof RESOURCE_KINDS)[number];

/** What each span's own time means (docs/segments.md). Arrays are by row. */
export interface Classes {
  /** Index into SEGMENTS of the conventions, for the time the span owns; for holds and rows outside trees it is not meaningful. */
  readonly segment: Uint8Array;
  /** Index into `resources`; -1 when the span belongs to none. */
  readonly resource: Int32Array;
  /** Bare resource names. A lock with a key is one resource name; the key stands in `lockKey`. */
  readonly resources: readonly string[];
  /** True where the segment was not stated by `waitfall.segment` but read from a rule or a known name. */
  readonly inferred: Uint8Array;
  /** By row, 0 = success, else index + 1 into OUTCOMES of the conventions (waits only). */
  readonly waitOutcome: Uint8Array;
}

/** How a request (tree) ended. */
export const REQUEST_OUTCOMES = ['success', 'rejected', 'timeout', 'aborted', 'error'] as const;
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];
