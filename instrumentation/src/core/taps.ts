import type { SpanContext } from '@opentelemetry/api';
import type { SegmentRecord } from './emit.ts';
import type { FinishedSpan } from './finished-span.ts';
import type { RootRecord } from './root.ts';

/** A part that looks at what is recorded; all of it costs one length check where there is none. */
export interface Tap {
  /** Every interval, sampled or not, before it is known whether it becomes a span. */
  recorded?(record: SegmentRecord): void;
  /** A `work` or `eventloop_wait` interval became a span of this identity. */
  emitted?(record: SegmentRecord, span: SpanContext): void;
  /** The topmost span of this process in a trace began, before its handler runs. */
  rootBegan?(root: RootRecord): void;
  /** Its last callback ran at `atMs`; its sums can still be added to. */
  rootEnded?(root: RootRecord, atMs: number): void;
  /** May keep a finished `work` span and pass it on later. @returns whether it did. */
  keepWork?(span: FinishedSpan): boolean;
}

export const taps: Tap[] = [];

export function addTap(tap: Tap): void {
  taps.push(tap);
}

export function removeTap(tap: Tap): void {
  const at = taps.indexOf(tap);
  if (at >= 0) taps.splice(at, 1);
}
