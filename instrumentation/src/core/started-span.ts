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
const OFFICIAL_UNDICI = '@opentelemetry/instrumentation-undici';

let poolSpan: StartedSpan | undefined;
let querySpan: StartedSpan | undefined;
let connectSpan: StartedSpan | undefined;

let undiciSpanStarted: ((span: Span) => void) | undefined;

/** Tells of every span of the official undici instrumentation when it starts. */
export function onUndiciSpan(started: (span: Span) => void): void {
  undiciSpanStarted = started;
}

let sawPg = false;

/** @returns whether the official pg instrumentation has made a span in this process. */
export function hasOfficialPg(): boolean {
  return sawPg;
}

/** Notes the spans of official instrumentations that start in this synchronous stretch of code. */
export function noteStarted(span: StartedSpan): void {
  const scope = span.instrumentationScope?.name;
  if (scope === OFFICIAL_UNDICI) undiciSpanStarted?.(span);
  if (scope !== OFFICIAL_PG) return;
  sawPg = true;
  if (span.name.startsWith('pg-pool.connect')) poolSpan = span;
  else if (span.name.startsWith('pg.query')) querySpan = span;
  else if (span.name === 'pg.connect') connectSpan = span;
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

/** @returns the official `pg.connect` span that started since the last call, if any. */
export function takeConnectSpan(): Span | undefined {
  const span = connectSpan;
  connectSpan = undefined;
  return span;
}
