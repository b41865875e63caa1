import type { SpanContext } from '@opentelemetry/api';
import type { SegmentRecord } from './emit.ts';
import type { FinishedSpan } from './finished-span.ts';
import type { RootRecord } from './root.ts';
import { warnOnce } from './warn.ts';

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

/** Those of the taps that look at one thing: most look at little, and what nobody looks at costs nothing. */
export const tapsOf: Readonly<Record<keyof Tap, Tap[]>> = {
  recorded: [],
  emitted: [],
  rootBegan: [],
  rootEnded: [],
  keepWork: [],
};

export function addTap(tap: Tap): void {
  for (const [what, list] of Object.entries(tapsOf) as [keyof Tap, Tap[]][])
    if (tap[what] !== undefined) list.push(tap);
}

export function removeTap(tap: Tap): void {
  for (const list of Object.values(tapsOf)) {
    const at = list.indexOf(tap);
    if (at >= 0) list.splice(at, 1);
  }
}

/** What a tap throws ends it, not the request it looked at. */
export function tapFailed(tap: Tap, error: unknown): void {
  removeTap(tap);
  warnOnce('tap', `a part of the instrumentation failed and is switched off: ${String(error)}`);
}
