import { type Context, ROOT_CONTEXT, type Span, type SpanContext, trace } from '@opentelemetry/api';
import {
  ATTR_DROPPED_COUNT,
  ATTR_DROPPED_NS,
  ATTR_EVENTLOOP_UTILIZATION,
  ATTR_SERVER_RECEIVED_UNIX_NANO,
  SEGMENTS,
  type Segment,
  timeAttribute,
} from '../conventions.ts';
import { type ClockAnchor, currentAnchor } from './clock.ts';
import { withSpan } from './context-node.ts';
import { AttributeKey, type AttributeSink } from './fragment.ts';
import { tapFailed, tapsOf } from './taps.ts';

const TIME_KEYS = new Map(SEGMENTS.map((segment) => [segment, new AttributeKey(timeAttribute(segment))]));
const DROPPED_NS = new AttributeKey(ATTR_DROPPED_NS);
const DROPPED_COUNT = new AttributeKey(ATTR_DROPPED_COUNT);
const SERVER_RECEIVED = new AttributeKey(ATTR_SERVER_RECEIVED_UNIX_NANO);
const EVENTLOOP_UTILIZATION = new AttributeKey(ATTR_EVENTLOOP_UTILIZATION);

const NO_SEGMENTS: Segment[] = [];
const NO_SUMS: number[] = [];

/** Time in which a request had or wanted the CPU, as a span of its own. */
export interface SpanSlice {
  readonly startMs: number;
  readonly endMs: number;
  readonly span: SpanContext;
}

/** What this process knows about one request while its root span is open. */
export class RootRecord {
  readonly anchor: ClockAnchor;
  /** The root span itself: the sums go there. */
  readonly span: Span;
  startMs: number;
  /** When its first callback ran. */
  readonly enteredMs: number;
  /** How much earlier than its first callback the request began, ms. */
  movedMs = 0;
  /** The end was moved back by as much. */
  endMoved = false;
  /** Segments that have a sum, and beside them the sums in ns: a request has few of them. */
  #segments: Segment[] = NO_SEGMENTS;
  #sumsNs: number[] = NO_SUMS;
  droppedNs = 0;
  droppedCount = 0;
  /** Spans this package has added to the request. */
  emitted = 0;
  /** Its slices, where somebody looks at them. */
  slices: SpanSlice[] | undefined = undefined;
  /** `nodeTiming.idleTime` when the request began, ms. */
  readonly idleMs: number;
  /** It has ended: its span says what was known by then, whenever that is written. */
  isOver = false;
  /** Share of the request's time in which the event loop was busy; known once it has ended. */
  utilization: number | undefined = undefined;

  #context: Context | undefined = undefined;

  /** A context in which the root span is active, and nothing else. */
  get context(): Context {
    this.#context ??= withSpan(ROOT_CONTEXT, this.span);
    return this.#context;
  }

  constructor(span: Span, startMs: number, idleMs: number) {
    this.span = span;
    this.anchor = currentAnchor(startMs);
    this.startMs = startMs;
    this.enteredMs = startMs;
    this.idleMs = idleMs;
    for (const tap of tapsOf.rootBegan) {
      try {
        tap.rootBegan?.(this);
      } catch (error) {
        tapFailed(tap, error);
      }
    }
  }

  addTime(segment: Segment, ns: number): void {
    if (this.isOver) return;
    const segments = this.#segments;
    for (let at = 0; at < segments.length; at++) {
      if (segments[at] !== segment) continue;
      this.#sumsNs[at] += ns;
      return;
    }
    if (this.#segments === NO_SEGMENTS) {
      this.#segments = [segment];
      this.#sumsNs = [ns];
    } else {
      this.#segments.push(segment);
      this.#sumsNs.push(ns);
    }
  }

  /**
   * Its attributes are written: what only they needed goes. Ended spans keep the record, and a batch of spans that waits
   * for its export is what the garbage collector copies.
   */
  release(): void {
    this.#segments = NO_SEGMENTS;
    this.#sumsNs = NO_SUMS;
    this.#context = undefined;
    this.slices = undefined;
  }

  /** What is known of the request as a whole: attributes of its root span. */
  writeAttributes(sink: AttributeSink): void {
    for (let at = 0; at < this.#segments.length; at++) {
      sink.integer(TIME_KEYS.get(this.#segments[at])!, this.#sumsNs[at]);
    }
    if (this.droppedCount > 0) {
      sink.integer(DROPPED_NS, this.droppedNs);
      sink.integer(DROPPED_COUNT, this.droppedCount);
    }
    if (this.movedMs > 0) sink.text(SERVER_RECEIVED, this.anchor.toUnixNano(this.startMs));
    if (this.utilization !== undefined) sink.decimal(EVENTLOOP_UTILIZATION, this.utilization);
  }
}

/** A class of spans that has these fields from the start is spared a change of shape per span; see {@link setRoot}. */
export const kRoot: unique symbol = Symbol('waitfall.root');
export const kStartMs: unique symbol = Symbol('waitfall.start_ms');

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
