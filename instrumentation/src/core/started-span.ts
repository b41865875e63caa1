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

/** The official instrumentation whose spans are looked for. */
const OFFICIAL_PG = '@opentelemetry/instrumentation-pg';

let poolSpan: StartedSpan | undefined;
let querySpan: StartedSpan | undefined;

/** Notes the spans of the official pg instrumentation that start in this synchronous stretch of code. */
export function noteStarted(span: StartedSpan): void {
  if (span.instrumentationScope?.name !== OFFICIAL_PG) return;
  if (span.name.startsWith('pg-pool.connect')) poolSpan = span;
  else if (span.name.startsWith('pg.query')) querySpan = span;
}

/** @returns the official `pg-pool.connect` span that started since the last call, if any. */
export function takePoolSpan(): Span | undefined {
  const span = poolSpan;
  poolSpan = undefined;
  return span;
}

/** @returns the official `pg.query` span that started since the last call, if any. */
export function takeQuerySpan(): Span | undefined {
  const span = querySpan;
  querySpan = undefined;
  return span;
}
