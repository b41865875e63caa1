import { type Span as ApiSpan, type Context, type HrTime, type SpanContext, trace } from '@opentelemetry/api';
import {
  ATTR_DROPPED_COUNT,
  ATTR_DROPPED_NS,
  ATTR_EVENTLOOP_UTILIZATION,
  SCOPE_NAME,
  timeAttribute,
} from '../conventions.ts';
import { now } from './clock.ts';
import { type LazySink, setLazySink } from './emit.ts';
import { LazySpan, type SpanOrigin } from './lazy-span.ts';
import { loopIdleMs } from './loop-clock.ts';
import { RootRecord, rootOfSpan, setRoot } from './root.ts';
import { VERSION } from './version.ts';

/** The part of an SDK span this processor touches; SDK 2.x and 3.x both have it. */
export interface StartedSpan extends ApiSpan {
  startTime: HrTime;
  name: string;
  attributes: Record<string, unknown>;
  resource: object;
  instrumentationScope?: { name: string };
  spanContext(): SpanContext;
}

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

/** Called at shutdown, before the next processor is: whatever is still held becomes spans. */
const beforeShutdown = new Set<() => void>();

/** Runs `flush` when a span processor of ours shuts down. */
export function onShutdown(flush: () => void): void {
  beforeShutdown.add(flush);
}

/** The span of another instrumentation that started last, in this synchronous stretch of code. */
let lastStarted: StartedSpan | undefined;

/** Forgets the span that started last; what {@link takeLastStarted} returns afterwards started later. */
export function forgetLastStarted(): void {
  lastStarted = undefined;
}

/** @returns the span that started last, if it is of the given instrumentation. */
export function lastStartedOf(scope: string, namePrefix: string): ApiSpan | undefined {
  const span = lastStarted;
  if (span?.instrumentationScope?.name !== scope || !span.name.startsWith(namePrefix)) return undefined;
  return span;
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
    const root = rootOfSpan(span);
    if (root !== undefined && root.span === span) writeSums(span, root);
    this.#next.onEnd(span);
  }

  accept(segment: Parameters<LazySink['accept']>[0]): LazySpan | undefined {
    if (this.#origin === undefined) return undefined;
    const span = new LazySpan(
      this.#origin,
      segment.parent,
      segment.name,
      segment.anchor,
      segment.startMs,
      segment.endMs,
      segment.attributes,
      segment.links,
      segment.error,
    );
    this.#next.onEnd(span);
    return span;
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush();
  }

  async shutdown(): Promise<void> {
    for (const flush of beforeShutdown) flush();
    await this.#next.shutdown();
  }

  #begin(span: StartedSpan, parentContext: Context): void {
    const atMs = now();
    const parent = trace.getSpan(parentContext);
    let root = parent?.spanContext().isRemote === true ? undefined : rootOfSpan(parent);
    if (root === undefined) root = new RootRecord(span, atMs, loopIdleMs());
    setRoot(span, root);
    if (this.#origin === undefined) {
      this.#origin = {
        resource: span.resource,
        instrumentationScope: { name: SCOPE_NAME, version: VERSION },
      };
      if (this.#lazy) setLazySink(this);
    }
    if (this.#preciseClock && isFlooredNow(span.startTime)) span.startTime = root.anchor.toHrTime(atMs);
    lastStarted = span;
  }
}

/** A default start is `Date.now()`: a whole number of ms, within a few ms of now. Explicit starts stay. */
function isFlooredNow(startTime: HrTime): boolean {
  const nanos = startTime[1];
  if (nanos % 1e6 !== 0) return false;
  return Math.abs(startTime[0] * 1e3 + nanos / 1e6 - Date.now()) <= 2;
}

function writeSums(span: StartedSpan, root: RootRecord): void {
  const attributes = span.attributes;
  for (const [segment, ns] of root.timeNs) attributes[timeAttribute(segment)] = ns;
  if (root.droppedCount > 0) {
    attributes[ATTR_DROPPED_NS] = root.droppedNs;
    attributes[ATTR_DROPPED_COUNT] = root.droppedCount;
  }
  const openMs = now() - root.startMs;
  if (openMs > 0) {
    const idle = (loopIdleMs() - root.idleMs) / openMs;
    attributes[ATTR_EVENTLOOP_UTILIZATION] = Math.round(Math.min(1, Math.max(0, 1 - idle)) * 1e4) / 1e4;
  }
}
