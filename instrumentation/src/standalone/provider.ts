import {
  type Attributes,
  type Context,
  context,
  INVALID_SPAN_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  TraceFlags,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { SCOPE_NAME } from '../conventions.ts';
import { now } from '../core/clock.ts';
import { withSpan } from '../core/context-node.ts';
import { addLazySink, type LazySink, removeLazySink } from '../core/emit.ts';
import type { FinishedSpan } from '../core/finished-span.ts';
import { LazySpan, type SpanOrigin } from '../core/lazy-span.ts';
import { beginRequest, finishRequest } from '../core/request.ts';
import { rootOfSpan } from '../core/root.ts';
import { flushBeforeShutdown } from '../core/shutdown.ts';
import { childContext, newSpanId, newTraceId } from '../core/span-id.ts';
import { noteStarted, type StartedSpan } from '../core/started-span.ts';
import { isTracingSuppressed } from '../core/suppress.ts';
import { VERSION } from '../core/version.ts';
import { RecordedSpan, toHrTime } from './recorded-span.ts';
import type { SamplerSettings } from './sampler.ts';

/** Where finished spans go. */
export interface SpanDestination {
  onEnd(span: RecordedSpan | LazySpan): void;
  /** As {@link onEnd}, without an object in the shape of the SDK's. */
  onFinished?(span: FinishedSpan, origin: SpanOrigin): void;
  /** As {@link onEnd}. */
  onRecorded?(span: RecordedSpan): void;
  forceFlush(): Promise<void>;
}

/** Records spans without the SDK: of ours, of the service and of other instrumentations alike. */
export class StandaloneProvider implements TracerProvider, LazySink {
  readonly #sampler: SamplerSettings;
  readonly #destinations: readonly SpanDestination[];
  readonly #resource: object;
  readonly #own: SpanOrigin;

  constructor(resource: object, sampler: SamplerSettings, destinations: readonly SpanDestination[]) {
    this.#resource = resource;
    this.#sampler = sampler;
    this.#destinations = destinations;
    this.#own = { resource, instrumentationScope: { name: SCOPE_NAME, version: VERSION } };
    addLazySink(this);
  }

  getTracer(name: string, version?: string): Tracer {
    const origin: SpanOrigin = { resource: this.#resource, instrumentationScope: { name, version } };
    return new StandaloneTracer((spanName, options, active) => this.start(spanName, options, active, origin));
  }

  accept(finished: FinishedSpan): void {
    const destinations = this.#destinations;
    if (destinations.length > 1) finished.context ??= childContext(finished.parent);
    for (const destination of destinations) {
      if (destination.onFinished !== undefined) destination.onFinished(finished, this.#own);
      else destination.onEnd(new LazySpan(this.#own, finished));
    }
  }

  async forceFlush(): Promise<void> {
    await Promise.all(this.#destinations.map((destination) => destination.forceFlush()));
  }

  async shutdown(): Promise<void> {
    flushBeforeShutdown();
    removeLazySink(this);
    await this.forceFlush();
  }

  start(name: string, options: SpanOptions, active: Context, origin: SpanOrigin): Span {
    if (isTracingSuppressed(active)) return trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
    const parentSpan = options.root === true ? undefined : trace.getSpan(active);
    const parent = validOrUndefined(parentSpan?.spanContext());
    const spanContext = this.#newContext(parent);
    if ((spanContext.traceFlags & TraceFlags.SAMPLED) === 0) return trace.wrapSpanContext(spanContext);
    const inherited = parent === undefined || parent.isRemote === true ? undefined : rootOfSpan(parentSpan);
    const span = new RecordedSpan(
      spanContext,
      parent,
      name,
      options.kind ?? SpanKind.INTERNAL,
      now(),
      inherited,
      origin,
      this.#ended,
      options.links,
    );
    if (options.startTime !== undefined) span.startTime = toHrTime(options.startTime, span.root);
    if (options.attributes !== undefined) span.setAttributes(options.attributes as Attributes);
    noteStarted(span as unknown as StartedSpan);
    return span;
  }

  /**
   * Starts the SERVER span of a request, in its first callback.
   *
   * @param parent where the request came from, if it said.
   * @param queuedMs how long ago a proxy took it, ms; 0 where that is not known.
   */
  startServer(name: string, parent: SpanContext | undefined, queuedMs: number): Span {
    const spanContext = this.#newContext(parent);
    if ((spanContext.traceFlags & TraceFlags.SAMPLED) === 0) return trace.wrapSpanContext(spanContext);
    const atMs = now();
    const span = new RecordedSpan(
      spanContext,
      parent,
      name,
      SpanKind.SERVER,
      atMs,
      undefined,
      this.#own,
      this.#ended,
    );
    span.startMs = beginRequest(span.root, atMs, queuedMs);
    return span;
  }

  /** The trace and the decision are the parent's; without one they begin here. */
  #newContext(parent: SpanContext | undefined): SpanContext {
    const { root, parentBased } = this.#sampler;
    const traceId = parent?.traceId ?? newTraceId();
    const local = parent !== undefined && parent.isRemote !== true;
    const follow = parent !== undefined && (parentBased || local);
    const sampled = follow ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0 : root(traceId);
    return {
      traceId,
      spanId: newSpanId(),
      traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
      traceState: parent?.traceState,
    };
  }

  readonly #ended = (span: RecordedSpan): void => {
    if (span.root.span === span) finishRequest(span.root, span.endMs);
    for (const destination of this.#destinations) {
      if (destination.onRecorded !== undefined) destination.onRecorded(span);
      else destination.onEnd(span);
    }
  };
}

function validOrUndefined(span: SpanContext | undefined): SpanContext | undefined {
  return span !== undefined && trace.isSpanContextValid(span) ? span : undefined;
}

type Start = (name: string, options: SpanOptions, active: Context) => Span;

class StandaloneTracer implements Tracer {
  readonly #start: Start;

  constructor(start: Start) {
    this.#start = start;
  }

  startSpan(name: string, options: SpanOptions = {}, active: Context = context.active()): Span {
    return this.#start(name, options, active);
  }

  // biome-ignore lint/suspicious/noExplicitAny: the API declares four overloads
  startActiveSpan(name: string, ...rest: any[]): any {
    const run = rest.at(-1) as (span: Span) => unknown;
    const options = (rest.length > 1 ? rest[0] : {}) as SpanOptions;
    const active = (rest.length > 2 ? rest[1] : context.active()) as Context;
    const span = this.#start(name, options, active);
    return context.with(withSpan(active, span), run, undefined, span);
  }
}
