import {
  type Attributes,
  type HrTime,
  type Link,
  type SpanContext,
  type SpanKind,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags,
} from '@opentelemetry/api';
import type { ClockAnchor } from './clock.ts';

const UNSET: SpanStatus = { code: SpanStatusCode.UNSET };
const ERROR: SpanStatus = { code: SpanStatusCode.ERROR };
const NO_LINKS: Link[] = [];
const NO_EVENTS: never[] = [];
const HEX16 = Array.from({ length: 0x10000 }, (_, value) => value.toString(16).padStart(4, '0'));

/** @returns a random span id: 16 hex digits, never all zero. */
export function newSpanId(): string {
  const high = Math.floor(Math.random() * 0x1_0000_0000);
  const low = Math.floor(Math.random() * 0xffff_ffff) + 1;
  return HEX16[high >>> 16] + HEX16[high & 0xffff] + HEX16[low >>> 16] + HEX16[low & 0xffff];
}

/** @returns the identity of a new span below `parent`. */
export function childContext(parent: SpanContext): SpanContext {
  return {
    traceId: parent.traceId,
    spanId: newSpanId(),
    traceFlags: TraceFlags.SAMPLED,
    traceState: parent.traceState,
  };
}

/** What all lazy spans of a process share. */
export interface SpanOrigin {
  resource: object;
  instrumentationScope: { name: string; version?: string };
}

/** A finished interval on its way to an exporter. */
export interface FinishedSpan {
  readonly parent: SpanContext;
  readonly name: string;
  readonly kind: SpanKind;
  readonly anchor: ClockAnchor;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly links: Link[] | undefined;
  readonly error: boolean;
  /** Set where others have referred to the span before it was finished. */
  readonly context: SpanContext | undefined;
}

/** A finished span that costs one object until an exporter reads it; has the shape of the SDK's ReadableSpan. */
export class LazySpan {
  readonly #origin: SpanOrigin;
  readonly #span: FinishedSpan;
  #context: SpanContext | undefined;

  constructor(origin: SpanOrigin, span: FinishedSpan) {
    this.#origin = origin;
    this.#span = span;
    this.#context = span.context;
  }

  get name(): string {
    return this.#span.name;
  }

  get kind(): SpanKind {
    return this.#span.kind;
  }

  get parentSpanContext(): SpanContext {
    return this.#span.parent;
  }

  get attributes(): Attributes {
    return this.#span.attributes;
  }

  get links(): Link[] {
    return this.#span.links ?? NO_LINKS;
  }

  get status(): SpanStatus {
    return this.#span.error ? ERROR : UNSET;
  }

  spanContext(): SpanContext {
    this.#context ??= childContext(this.#span.parent);
    return this.#context;
  }

  get startTime(): HrTime {
    return this.#span.anchor.toHrTime(this.#span.startMs);
  }

  get endTime(): HrTime {
    return this.#span.anchor.toHrTime(this.#span.endMs);
  }

  get duration(): HrTime {
    const [startSeconds, startNanos] = this.startTime;
    const [endSeconds, endNanos] = this.endTime;
    return endNanos >= startNanos
      ? [endSeconds - startSeconds, endNanos - startNanos]
      : [endSeconds - startSeconds - 1, endNanos - startNanos + 1e9];
  }

  get resource(): object {
    return this.#origin.resource;
  }

  get instrumentationScope(): { name: string; version?: string } {
    return this.#origin.instrumentationScope;
  }

  get ended(): boolean {
    return true;
  }

  get events(): never[] {
    return NO_EVENTS;
  }

  get droppedAttributesCount(): number {
    return 0;
  }

  get droppedEventsCount(): number {
    return 0;
  }

  get droppedLinksCount(): number {
    return 0;
  }
}
