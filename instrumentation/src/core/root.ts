import { type Context, type Span, trace } from '@opentelemetry/api';
import type { Segment } from '../conventions.ts';
import { type ClockAnchor, currentAnchor } from './clock.ts';

/** What this process knows about one request while its root span is open. */
export class RootRecord {
  readonly anchor: ClockAnchor;
  /** The root span itself: the sums go there. */
  readonly span: Span;
  startMs: number;
  /** How much earlier than its first callback the request began, ms. */
  movedMs = 0;
  /** The end was moved back by as much. */
  endMoved = false;
  /** Ns per segment; `waitfall.time.<segment>_ns` on the root span. */
  readonly timeNs = new Map<Segment, number>();
  droppedNs = 0;
  droppedCount = 0;
  /** Spans this package has added to the request. */
  emitted = 0;
  /** `nodeTiming.idleTime` when the request began, ms. */
  readonly idleMs: number;

  constructor(span: Span, startMs: number, idleMs: number) {
    this.span = span;
    this.anchor = currentAnchor();
    this.startMs = startMs;
    this.idleMs = idleMs;
  }

  addTime(segment: Segment, ns: number): void {
    this.timeNs.set(segment, (this.timeNs.get(segment) ?? 0) + ns);
  }
}

const kRoot = Symbol('waitfall.root');
const kStartMs = Symbol('waitfall.start_ms');

interface Marked {
  [kRoot]?: RootRecord;
  [kStartMs]?: number;
}

/** Remembers on a span which request it belongs to, and when it started. */
export function setRoot(span: object, root: RootRecord, startMs: number): void {
  (span as Marked)[kRoot] = root;
  (span as Marked)[kStartMs] = startMs;
}

/** @returns when a span started, if our span processor saw it. */
export function startOfSpan(span: object | undefined): number | undefined {
  return (span as Marked | undefined)?.[kStartMs];
}

/** @returns the request a span belongs to, if our span processor saw it start. */
export function rootOfSpan(span: object | undefined): RootRecord | undefined {
  return (span as Marked | undefined)?.[kRoot];
}

/** @returns the request that is active in a context. */
export function rootOf(context: Context): RootRecord | undefined {
  return rootOfSpan(trace.getSpan(context) as Span | undefined);
}
