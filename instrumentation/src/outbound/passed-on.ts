import { type Context, trace } from '@opentelemetry/api';

/**
 * @returns whether a `traceparent` that a call carries already may be replaced by that of the call's own span. One of the
 * same trace was passed on as it came (by a proxy), or stands for a span around the call: the call's own is nearer. One of
 * another trace is somebody's purpose.
 */
export function isPassedOn(traceparent: unknown, outgoing: Context): boolean {
  const traceId = trace.getSpanContext(outgoing)?.traceId;
  return traceId !== undefined && String(traceparent).includes(`-${traceId}-`);
}
