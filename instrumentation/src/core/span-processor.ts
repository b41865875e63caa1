import { type Context, type HrTime, TraceFlags, trace } from '@opentelemetry/api';
import { SCOPE_NAME } from '../conventions.ts';
import { now } from './clock.ts';
import { addLazySink, type LazySink, removeLazySink } from './emit.ts';
import type { FinishedSpan } from './finished-span.ts';
import { LazySpan, type SpanOrigin } from './lazy-span.ts';
import { loopIdleMs } from './loop-clock.ts';
import { beginRequest, endRoot, isRequestEntry } from './request.ts';
import { RootRecord, rootOfSpan, setRoot } from './root.ts';
import { flushBeforeShutdown } from './shutdown.ts';
import { endWithResponse } from './span-end.ts';
import { noteStarted, type StartedSpan } from './started-span.ts';
import { unsampledSink } from './unsampled.ts';
import { VERSION } from './version.ts';

// biome-ignore lint/suspicious/noExplicitAny: span types of SDK 2.x and 3.x differ and have one shape
type AnySpan = any;

/** The SDK's span processor contract, as far as it is needed: processors of SDK 2.x and 3.x both fit. */
export interface AnySpanProcessor {
  onStart(span: AnySpan, parentContext: Context): void;
  onEnd(span: AnySpan): void;
  onEnding?(span: AnySpan): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** A processor of ours: it takes finished spans as they are, without an object in the shape of the SDK's. */
export interface FinishedSpanProcessor extends AnySpanProcessor {
  /** Set by ours only: somebody else's method of that name means something else. */
  readonly takesFinished: true;
  onFinished(span: FinishedSpan, origin: SpanOrigin): void;
}

/** Hands on one of our finished spans, in the form the processor takes. */
export function passFinished(next: AnySpanProcessor, span: FinishedSpan, origin: SpanOrigin): void {
  if ((next as Partial<FinishedSpanProcessor>).takesFinished === true)
    (next as FinishedSpanProcessor).onFinished(span, origin);
  else next.onEnd(new LazySpan(origin, span));
}

export interface WaitfallSpanProcessorOptions {
  /**
   * `lazy` (default): our spans go to the next processor as finished records, without `onStart`.
   * `api`: they are started and ended through the tracer, at ten times the cost, and every processor of the
   * provider sees them.
   */
  spans?: 'lazy' | 'api';
  /** Give spans their start in ns; the SDK floors it to whole ms. Default true. */
  preciseClock?: boolean;
}

/**
 * Stands before the processor that exports. Gives every span of the process a start in ns, keeps the sums of
 * each request and writes them on its root span (`waitfall.time.<segment>_ns`), and passes our own spans on.
 */
export class WaitfallSpanProcessor implements AnySpanProcessor, LazySink {
  readonly #next: AnySpanProcessor;
  readonly #preciseClock: boolean;
  readonly #lazy: boolean;
  #origin: SpanOrigin | undefined;

  /** @param next the processor that exports, for example a BatchSpanProcessor. */
  constructor(next: AnySpanProcessor, options: WaitfallSpanProcessorOptions = {}) {
    this.#next = next;
    this.#preciseClock = options.preciseClock ?? true;
    this.#lazy = (options.spans ?? 'lazy') === 'lazy';
  }

  onStart(span: AnySpan, parentContext: Context): void {
    try {
      this.#begin(span, parentContext);
    } catch {
      // A span of an SDK we do not know: it goes through as it is.
    }
    this.#next.onStart(span, parentContext);
  }

  onEnding(span: AnySpan): void {
    this.#next.onEnding?.(span);
  }

  onEnd(span: AnySpan): void {
    try {
      const root = rootOfSpan(span);
      if (root !== undefined && root.span === span) endRoot(span, root);
      else if (root !== undefined) endWithResponse(span, root.span);
    } catch {
      // As above.
    }
    // Recorded although it was not sampled: exporters pass over it.
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) unsampledSink()?.onEnd(span);
    this.#next.onEnd(span);
  }

  accept(finished: FinishedSpan): void {
    if (this.#origin === undefined) return;
    if ((finished.parent.traceFlags & TraceFlags.SAMPLED) === 0)
      unsampledSink()?.onFinished(finished, this.#origin);
    else passFinished(this.#next, finished, this.#origin);
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush();
  }

  async shutdown(): Promise<void> {
    flushBeforeShutdown();
    removeLazySink(this);
    await this.#next.shutdown();
  }

  #begin(span: StartedSpan, parentContext: Context): void {
    if (this.#origin === undefined) {
      this.#origin = {
        resource: span.resource,
        instrumentationScope: { name: SCOPE_NAME, version: VERSION },
      };
      if (this.#lazy) addLazySink(this);
    }
    // A second processor of ours, for another exporter, finds everything done.
    if (rootOfSpan(span) !== undefined) return;
    const atMs = now();
    const parent = trace.getSpan(parentContext);
    const inherited = parent?.spanContext().isRemote === true ? undefined : rootOfSpan(parent);
    const root = inherited ?? new RootRecord(span, atMs, loopIdleMs());
    setRoot(span, root, atMs);
    if (this.#preciseClock && isFlooredNow(span.startTime)) {
      const isEntry = inherited === undefined && isRequestEntry(span);
      span.startTime = root.anchor.toHrTime(isEntry ? beginRequest(root, atMs) : atMs);
    }
    noteStarted(span);
  }
}

/** A default start is `Date.now()`: a whole number of ms, within a few ms of now. Explicit starts stay. */
function isFlooredNow(startTime: HrTime): boolean {
  const nanos = startTime[1];
  if (nanos % 1e6 !== 0) return false;
  return Math.abs(startTime[0] * 1e3 + nanos / 1e6 - Date.now()) <= 2;
}
