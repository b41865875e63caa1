import {
  type Attributes,
  type HrTime,
  type Link,
  type SpanContext,
  type SpanKind,
  type SpanStatus,
  SpanStatusCode,
} from '@opentelemetry/api';
import type { FinishedSpan } from './finished-span.ts';
import { childContext } from './span-id.ts';

export type { FinishedSpan } from './finished-span.ts';

const UNSET: SpanStatus = { code: SpanStatusCode.UNSET };
const ERROR: SpanStatus = { code: SpanStatusCode.ERROR };
const NO_LINKS: Link[] = [];
const NO_EVENTS: never[] = [];

/** What all spans of one instrumentation scope share. */
export interface SpanOrigin {
  readonly resource: object;
  readonly instrumentationScope: { name: string; version?: string };
}

/** A finished span for somebody else's processor: has the shape of the SDK's ReadableSpan. */
export class LazySpan {
  readonly #origin: SpanOrigin;
  readonly #span: FinishedSpan;
  #context: SpanContext | undefined;
  #attributes: Attributes | undefined;

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

  /** Made when first read; the reader may change it. */
  get attributes(): Attributes {
    this.#attributes ??= this.#span.attributes();
    return this.#attributes;
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
