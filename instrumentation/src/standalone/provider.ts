import {
  type Attributes,
  type Context,
  context,
  INVALID_SPAN_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  TraceFlags,
  type Tracer,
  type TracerProvider,
  type TraceState,
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
import { childContext, identityOf, newIdentity, SpanIdentity } from '../core/span-id.ts';
import { noteStarted, type StartedSpan } from '../core/started-span.ts';
import { isTracingSuppressed } from '../core/suppress.ts';
import { unsampledSink } from '../core/unsampled.ts';
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
  #successor: TracerProvider | undefined;

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

  /** From now on another provider makes the spans; what has begun here ends here. */
  handOver(successor: TracerProvider): void {
    this.#successor = successor;
    removeLazySink(this);
  }

  /** Whether {@link handOver} was called. */
  get isHandedOver(): boolean {
    return this.#successor !== undefined;
  }

  accept(finished: FinishedSpan): void {
    if (!isSampled(finished.parent)) {
      unsampledSink()?.onFinished(finished, this.#own);
      return;
    }
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
    if (this.#successor !== undefined) {
      const { name: scope, version } = origin.instrumentationScope;
      return this.#successor.getTracer(scope, version).startSpan(name, options, active);
    }
    if (isTracingSuppressed(active)) return trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
    const parentSpan = options.root === true ? undefined : trace.getSpan(active);
    const parent = identityOfValid(parentSpan);
    const identity = this.#newIdentity(parent);
    if (!isSampled(identity) && unsampledSink() === undefined) return trace.wrapSpanContext(identity.plain());
    const inherited = parent === undefined || parent.isRemote ? undefined : rootOfSpan(parentSpan);
    const span = new RecordedSpan(
      identity,
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
  startServer(name: string, parent: SpanIdentity | undefined, queuedMs: number): Span {
    const identity = this.#newIdentity(parent);
    if (!isSampled(identity) && unsampledSink() === undefined) return trace.wrapSpanContext(identity.plain());
    const atMs = now();
    const span = new RecordedSpan(
      identity,
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
  #newIdentity(parent: SpanIdentity | undefined): SpanIdentity {
    const { root, parentBased, state } = this.#sampler;
    const identity = newIdentity(parent);
    const follow = parent !== undefined && (parentBased || !parent.isRemote);
    const sampled = follow ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0 : root(identity);
    if (!sampled) return identity;
    identity.traceFlags = TraceFlags.SAMPLED;
    return parent === undefined && state !== undefined ? withState(identity, state) : identity;
  }

  readonly #ended = (span: RecordedSpan): void => {
    if (span.root.span === span) finishRequest(span.root, span.endMs);
    if (!isSampled(span.identity)) {
      unsampledSink()?.onRecorded(span);
      return;
    }
    for (const destination of this.#destinations) {
      if (destination.onRecorded !== undefined) destination.onRecorded(span);
      else destination.onEnd(span);
    }
  };
}

/** Whether a span is exported; others are recorded only while somebody takes them. */
function isSampled(span: { readonly traceFlags: number }): boolean {
  return (span.traceFlags & TraceFlags.SAMPLED) !== 0;
}

function withState(of: SpanIdentity, state: TraceState): SpanIdentity {
  const { trace0, trace1, trace2, trace3, high, low, traceFlags } = of;
  return new SpanIdentity(trace0, trace1, trace2, trace3, high, low, traceFlags, state, false);
}

function identityOfValid(span: Span | undefined): SpanIdentity | undefined {
  if (span instanceof RecordedSpan) return span.identity;
  const spanContext = span?.spanContext();
  return spanContext !== undefined && trace.isSpanContextValid(spanContext)
    ? identityOf(spanContext)
    : undefined;
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
