import {
  type Attributes,
  type HrTime,
  type Link,
  type SpanContext,
  SpanKind,
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

/** What all lazy spans of a process share. */
export interface SpanOrigin {
  resource: object;
  instrumentationScope: { name: string; version?: string };
}

/** A finished span that costs one object until an exporter reads it; has the shape of the SDK's ReadableSpan. */
export class LazySpan {
  readonly name: string;
  readonly kind = SpanKind.INTERNAL;
  readonly parentSpanContext: SpanContext;
  readonly attributes: Attributes;
  readonly links: Link[];
  readonly status: SpanStatus;
  readonly #origin: SpanOrigin;
  readonly #anchor: ClockAnchor;
  readonly #startMs: number;
  readonly #endMs: number;
  #context: SpanContext | undefined;

  constructor(
    origin: SpanOrigin,
    parent: SpanContext,
    name: string,
    anchor: ClockAnchor,
    startMs: number,
    endMs: number,
    attributes: Attributes,
    links: Link[] | undefined,
    error: boolean,
  ) {
    this.#origin = origin;
    this.parentSpanContext = parent;
    this.name = name;
    this.#anchor = anchor;
    this.#startMs = startMs;
    this.#endMs = endMs;
    this.attributes = attributes;
    this.links = links ?? NO_LINKS;
    this.status = error ? ERROR : UNSET;
  }

  spanContext(): SpanContext {
    this.#context ??= {
      traceId: this.parentSpanContext.traceId,
      spanId: newSpanId(),
      traceFlags: TraceFlags.SAMPLED,
      traceState: this.parentSpanContext.traceState,
    };
    return this.#context;
  }

  get startTime(): HrTime {
    return this.#anchor.toHrTime(this.#startMs);
  }

  get endTime(): HrTime {
    return this.#anchor.toHrTime(this.#endMs);
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
