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

export const taps: Tap[] = [];

const guards = new WeakMap<Tap, Tap>();

export function addTap(tap: Tap): void {
  const guard = guarded(tap);
  guards.set(tap, guard);
  taps.push(guard);
}

export function removeTap(tap: Tap): void {
  const at = taps.indexOf(guards.get(tap) ?? tap);
  if (at >= 0) taps.splice(at, 1);
}

/** What a tap throws ends it, not the request it looked at. */
function guarded(tap: Tap): Tap {
  const guard = <A extends unknown[], R>(method: ((...args: A) => R) | undefined) => {
    if (method === undefined) return undefined;
    return (...args: A): R | undefined => {
      try {
        return method.apply(tap, args);
      } catch (error) {
        removeTap(tap);
        warnOnce('tap', `a part of the instrumentation failed and is switched off: ${String(error)}`);
        return undefined;
      }
    };
  };
  return {
    recorded: guard(tap.recorded),
    emitted: guard(tap.emitted),
    rootBegan: guard(tap.rootBegan),
    rootEnded: guard(tap.rootEnded),
    keepWork: guard(tap.keepWork) as Tap['keepWork'],
  };
}
