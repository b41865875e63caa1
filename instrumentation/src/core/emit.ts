import {
  type Attributes,
  type Context,
  type Link,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { type Outcome, RESOURCE_EVENT_LOOP, SCOPE_NAME, type Segment } from '../conventions.ts';
import { currentAnchor, durationNs } from './clock.ts';
import { withSpan } from './context-node.ts';
import { FinishedSpan } from './finished-span.ts';
import { Fragment } from './fragment.ts';
import { Interval } from './interval.ts';
import { type RootRecord, rootOf, rootOfSpan, setRoot } from './root.ts';
import { shapeOf } from './segment-shape.ts';
import { childContext, contextOfSpan } from './span-id.ts';
import { tapFailed, tapsOf } from './taps.ts';
import { unsampledSink } from './unsampled.ts';

/** One interval of one request, in monotonic ms. */
export interface SegmentRecord {
  segment: Segment;
  resource: string;
  parent: Context;
  startMs: number;
  endMs: number;
  /** Span name; the default is `wait_for <resource>`. */
  name?: string;
  outcome?: Outcome;
  /** `error.type` of a rejected or timed-out wait. */
  errorType?: string;
  capacity?: number;
  inUse?: number;
  queueDepth?: number;
  /** How long the resource was held from {@link endMs} on; absent where nothing was taken. */
  holdMs?: number;
  /** Bounds of an inferred interval: it was at least and at most this long. */
  minMs?: number;
  maxMs?: number;
  attributes?: Attributes;
  links?: Link[];
  /** A visit that counts even where it neither waited nor has a known hold. */
  isVisit?: boolean;
  /** Its identity, where others have referred to it before it ended. */
  context?: SpanContext;
}

/** Takes finished spans past the tracer: an order of magnitude cheaper than start and end of an SDK span. */
export interface LazySink {
  accept(span: FinishedSpan): void;
}

const NOTHING_FIXED = new Fragment({});

/** A request never gets more spans from us than this; what is beyond goes into its dropped counters. */
const MAX_SEGMENTS_PER_REQUEST = 1_000;

let tracer: Tracer = trace.getTracer(SCOPE_NAME);
let sinks: readonly LazySink[] = [];
let minWaitNs = 200_000;

/** Every span goes through this tracer until a {@link LazySink} is there. */
export function setTracer(next: Tracer): void {
  tracer = next;
}

/** From now on finished spans go to this sink; with several, to each of them. */
export function addLazySink(sink: LazySink): void {
  sinks = [...sinks, sink];
}

export function removeLazySink(sink: LazySink): void {
  sinks = sinks.filter((other) => other !== sink);
}

/** Hands a finished span to every sink; all of them see the same identity. */
function finish(span: FinishedSpan): void {
  if (sinks.length === 1) {
    sinks[0].accept(span);
    return;
  }
  span.context ??= childContext(span.parent);
  for (const sink of sinks) sink.accept(span);
}

/** Waits shorter than this, without a hold, become part of the root's sums instead of spans. */
export function setMinWaitMs(ms: number): void {
  minWaitNs = Math.round(ms * 1e6);
}

/**
 * Counts an interval into its request's sums without a span. Waits are counted when they end, their spans
 * often only when the hold ends: by then the root span may be closed.
 */
export function countTime(parent: Context, segment: Segment, startMs: number, endMs: number): void {
  rootOf(parent)?.addTime(segment, durationNs(startMs, endMs));
}

/** @returns whether anything recorded under this context can become a span. */
export function isSampled(parent: Context): boolean {
  const span = contextOfSpan(trace.getSpan(parent));
  return span !== undefined && isRecorded(span, parent);
}

/** Sampled, or kept by somebody who takes what is not. */
function isRecorded(span: SpanContext, parent: Context): boolean {
  if ((span.traceFlags & TraceFlags.SAMPLED) !== 0) return true;
  return unsampledSink() !== undefined && sinks.length > 0 && rootOf(parent) !== undefined;
}

/** Makes a recorded interval a span under its request. Nothing happens outside a sampled request. */
export function emitSegment(given: SegmentRecord): void {
  const record = Interval.of(given);
  if (tapsOf.recorded.length > 0) passRecord(record);
  const active = trace.getSpan(record.parent);
  const parentSpan = contextOfSpan(active);
  if (parentSpan === undefined || !isRecorded(parentSpan, record.parent)) return;
  const root = rootOfSpan(active);
  const { outcome, holdMs } = record;
  const lengthNs = durationNs(record.startMs, record.endMs);
  const failed = outcome === 'rejected' || outcome === 'timeout';
  if (!failed && holdMs === undefined && record.isVisit !== true && lengthNs < minWaitNs) {
    drop(root, lengthNs);
    return;
  }
  if (root !== undefined && ++root.emitted > MAX_SEGMENTS_PER_REQUEST) {
    drop(root, lengthNs);
    return;
  }
  const shape = shapeOf(record.segment, record.resource, record.capacity);
  const span = new FinishedSpan(
    parentSpan,
    record.name ?? shape.name,
    SpanKind.INTERNAL,
    root?.anchor ?? currentAnchor(),
    record.startMs,
    record.endMs,
    failed,
    shape.fragment(outcome),
  );
  span.inUse = record.inUse;
  span.queueDepth = record.queueDepth;
  if (holdMs !== undefined) span.holdNs = Math.max(0, Math.round(holdMs * 1e6));
  if (record.minMs !== undefined) setBounds(span, record.minMs, record.maxMs ?? record.minMs);
  span.links = record.links;
  span.context = record.context;
  span.rest = record.attributes;
  if (record.errorType !== undefined) span.rest = { 'error.type': record.errorType, ...record.attributes };
  if (tapsOf.emitted.length > 0 && isTapped(record)) passSpan(record, span);
  if (isLoopWork(record) && tapsOf.keepWork.length > 0 && sinks.length > 0 && isKept(span)) return;
  if (sinks.length > 0) finish(span);
  else passToTracer(span, record.parent);
}

/** Bounds further apart than this are no measurement. */
const MAX_UNCERTAINTY_MS = 1;

function setBounds(span: FinishedSpan, minMs: number, maxMs: number): void {
  span.minNs = durationNs(0, minMs);
  span.maxNs = durationNs(0, maxMs);
  span.estimated = maxMs - minMs > MAX_UNCERTAINTY_MS;
}

/** What taps look at as spans. */
function isTapped(record: SegmentRecord): boolean {
  return record.segment === 'eventloop_wait' || isLoopWork(record);
}

/** Work of the thread that runs JavaScript, not of the pool's. */
function isLoopWork({ segment, resource }: SegmentRecord): boolean {
  return segment === 'work' && resource === RESOURCE_EVENT_LOOP;
}

function passRecord(record: SegmentRecord): void {
  for (const tap of tapsOf.recorded) {
    try {
      tap.recorded?.(record);
    } catch (error) {
      tapFailed(tap, error);
    }
  }
}

function passSpan(record: SegmentRecord, span: FinishedSpan): void {
  span.context ??= childContext(span.parent);
  for (const tap of tapsOf.emitted) {
    try {
      tap.emitted?.(record, span.context);
    } catch (error) {
      tapFailed(tap, error);
    }
  }
}

/** @returns whether a tap keeps the span; it passes it on later, by {@link finishKept}. */
function isKept(span: FinishedSpan): boolean {
  for (const tap of tapsOf.keepWork) {
    try {
      if (tap.keepWork?.(span) === true) return true;
    } catch (error) {
      tapFailed(tap, error);
    }
  }
  return false;
}

export function finishKept(span: FinishedSpan): void {
  finish(span);
}

/** Without a sink: a span like everybody's. */
function passToTracer(span: FinishedSpan, parent: Context): void {
  const { anchor } = span;
  const started = tracer.startSpan(
    span.name,
    { startTime: anchor.toHrTime(span.startMs), attributes: span.attributes(), links: span.links },
    parent,
  );
  if (span.error) started.setStatus({ code: SpanStatusCode.ERROR });
  started.end(anchor.toHrTime(span.endMs));
}

/** A span of ours that others may refer to before it has ended. */
export class ReservedSpan {
  readonly #parent: Context;
  readonly #parentSpan: SpanContext;
  readonly #startMs: number;
  #context: SpanContext | undefined = undefined;
  #active: Context | undefined = undefined;

  constructor(parent: Context, parentSpan: SpanContext, startMs: number) {
    this.#parent = parent;
    this.#parentSpan = parentSpan;
    this.#startMs = startMs;
  }

  get spanContext(): SpanContext {
    this.#context ??= childContext(this.#parentSpan);
    return this.#context;
  }

  /** The caller's context with the span in it; most spans have nothing below them and never need it. */
  get active(): Context {
    if (this.#active === undefined) {
      const span = trace.wrapSpanContext(this.spanContext);
      const root = rootOf(this.#parent);
      if (root !== undefined) setRoot(span, root, this.#startMs);
      this.#active = withSpan(this.#parent, span);
    }
    return this.#active;
  }

  end(name: string, kind: SpanKind, endMs: number, attributes: Attributes, error: boolean): void {
    this.endFixed(name, kind, endMs, NOTHING_FIXED, attributes, error);
  }

  /** As {@link end}, with attributes that other spans have too. */
  endFixed(
    name: string,
    kind: SpanKind,
    endMs: number,
    fixed: Fragment,
    rest: Attributes | undefined,
    error: boolean,
  ): void {
    const anchor = rootOf(this.#parent)?.anchor ?? currentAnchor();
    const span = new FinishedSpan(this.#parentSpan, name, kind, anchor, this.#startMs, endMs, error, fixed);
    span.context = this.#context;
    span.rest = rest;
    finish(span);
  }
}

/**
 * Gives a span an identity before it is known how it ends. Only where a span processor of ours tells that
 * nobody else records the same thing.
 *
 * @returns undefined outside a sampled request, and without that processor.
 */
export function reserveSpan(parent: Context, startMs: number): ReservedSpan | undefined {
  if (sinks.length === 0) return undefined;
  const parentSpan = contextOfSpan(trace.getSpan(parent));
  if (parentSpan === undefined || !isRecorded(parentSpan, parent)) return undefined;
  return new ReservedSpan(parent, parentSpan, startMs);
}

function drop(root: RootRecord | undefined, ns: number): void {
  if (root === undefined || root.isOver || ns === 0) return;
  root.droppedNs += ns;
  root.droppedCount++;
}
