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
import {
  ATTR_HOLD_DURATION_NS,
  ATTR_OUTCOME,
  ATTR_RESOURCE,
  ATTR_RESOURCE_CAPACITY,
  ATTR_RESOURCE_IN_USE,
  ATTR_RESOURCE_QUEUE_DEPTH,
  ATTR_SEGMENT,
  type Outcome,
  SCOPE_NAME,
  type Segment,
  waitSpanName,
} from '../conventions.ts';
import { currentAnchor, durationNs } from './clock.ts';
import { childContext, type FinishedSpan, type LazySpan } from './lazy-span.ts';
import { type RootRecord, rootOf, setRoot } from './root.ts';

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
  attributes?: Attributes;
  links?: Link[];
  /** A visit that counts even where it neither waited nor has a known hold. */
  isVisit?: boolean;
}

/** Takes finished spans past the tracer: an order of magnitude cheaper than start and end of an SDK span. */
export interface LazySink {
  accept(span: FinishedSpan): LazySpan | undefined;
}

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
function finish(span: FinishedSpan): SpanContext | undefined {
  if (sinks.length === 1) return sinks[0].accept(span)?.spanContext();
  const context = span.context ?? childContext(span.parent);
  for (const sink of sinks) sink.accept({ ...span, context });
  return context;
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
  const span = trace.getSpanContext(parent);
  return span !== undefined && (span.traceFlags & TraceFlags.SAMPLED) !== 0;
}

/**
 * Makes a recorded interval a span under its request. Nothing happens outside a sampled request.
 *
 * @returns the span's context, or undefined where no span was made.
 */
export function emitSegment(record: SegmentRecord): SpanContext | undefined {
  const parentSpan = trace.getSpanContext(record.parent);
  if (parentSpan === undefined || (parentSpan.traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
  const root = rootOf(record.parent);
  const lengthNs = durationNs(record.startMs, record.endMs);
  const failed = record.outcome === 'rejected' || record.outcome === 'timeout';
  if (!failed && record.holdMs === undefined && record.isVisit !== true && lengthNs < minWaitNs) {
    drop(root, lengthNs);
    return undefined;
  }
  if (root !== undefined && ++root.emitted > MAX_SEGMENTS_PER_REQUEST) {
    drop(root, lengthNs);
    return undefined;
  }
  const anchor = root?.anchor ?? currentAnchor();
  const attributes = attributesOf(record);
  const name = record.name ?? waitSpanName(record.resource);
  if (sinks.length > 0) {
    return finish({
      parent: parentSpan,
      name,
      kind: SpanKind.INTERNAL,
      anchor,
      startMs: record.startMs,
      endMs: record.endMs,
      attributes,
      links: record.links,
      error: failed,
      context: undefined,
    });
  }
  const span = tracer.startSpan(
    name,
    { startTime: anchor.toHrTime(record.startMs), attributes, links: record.links },
    record.parent,
  );
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(anchor.toHrTime(record.endMs));
  return span.spanContext();
}

/** A span of ours that others may refer to before it has ended. */
export class ReservedSpan {
  readonly #parent: Context;
  readonly #parentSpan: SpanContext;
  readonly #context: SpanContext;
  readonly #startMs: number;
  #active: Context | undefined;

  constructor(parent: Context, parentSpan: SpanContext, startMs: number) {
    this.#parent = parent;
    this.#parentSpan = parentSpan;
    this.#context = childContext(parentSpan);
    this.#startMs = startMs;
  }

  /** The caller's context with the span in it; most spans have nothing below them and never need it. */
  get active(): Context {
    if (this.#active === undefined) {
      const span = trace.wrapSpanContext(this.#context);
      const root = rootOf(this.#parent);
      if (root !== undefined) setRoot(span, root, this.#startMs);
      this.#active = trace.setSpan(this.#parent, span);
    }
    return this.#active;
  }

  end(name: string, kind: SpanKind, endMs: number, attributes: Attributes, error: boolean): void {
    finish({
      parent: this.#parentSpan,
      name,
      kind,
      anchor: rootOf(this.#parent)?.anchor ?? currentAnchor(),
      startMs: this.#startMs,
      endMs,
      attributes,
      links: undefined,
      error,
      context: this.#context,
    });
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
  const parentSpan = trace.getSpanContext(parent);
  if (parentSpan === undefined || (parentSpan.traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
  return new ReservedSpan(parent, parentSpan, startMs);
}

function drop(root: RootRecord | undefined, ns: number): void {
  if (root === undefined || ns === 0) return;
  root.droppedNs += ns;
  root.droppedCount++;
}

function attributesOf(record: SegmentRecord): Attributes {
  const attributes: Attributes = { [ATTR_SEGMENT]: record.segment, [ATTR_RESOURCE]: record.resource };
  if (record.outcome !== undefined) attributes[ATTR_OUTCOME] = record.outcome;
  if (record.capacity !== undefined) attributes[ATTR_RESOURCE_CAPACITY] = record.capacity;
  if (record.inUse !== undefined) attributes[ATTR_RESOURCE_IN_USE] = record.inUse;
  if (record.queueDepth !== undefined) attributes[ATTR_RESOURCE_QUEUE_DEPTH] = record.queueDepth;
  if (record.holdMs !== undefined)
    attributes[ATTR_HOLD_DURATION_NS] = Math.max(0, Math.round(record.holdMs * 1e6));
  if (record.errorType !== undefined) attributes['error.type'] = record.errorType;
  return record.attributes === undefined ? attributes : Object.assign(attributes, record.attributes);
}
