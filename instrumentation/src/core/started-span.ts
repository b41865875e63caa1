import type { HrTime, Span, SpanContext, SpanKind } from '@opentelemetry/api';

/** The part of an SDK span that is read or corrected here; SDK 2.x and 3.x both have it. */
export interface StartedSpan extends Span {
  startTime: HrTime;
  endTime: HrTime;
  kind: SpanKind;
  name: string;
  attributes: Record<string, unknown>;
  resource: object;
  instrumentationScope?: { name: string };
  spanContext(): SpanContext;
}

let lastStarted: StartedSpan | undefined;

/** Notes the span that started last in this synchronous stretch of code. */
export function noteStarted(span: StartedSpan): void {
  lastStarted = span;
}

/** Forgets it: what {@link lastStartedOf} returns afterwards started later. */
export function forgetLastStarted(): void {
  lastStarted = undefined;
}

/** @returns the span that started last, if it is of the given instrumentation. */
export function lastStartedOf(scope: string, namePrefix: string): Span | undefined {
  const span = lastStarted;
  if (span?.instrumentationScope?.name !== scope || !span.name.startsWith(namePrefix)) return undefined;
  return span;
}
