import { type HrTime, type Span, SpanKind } from '@opentelemetry/api';
import type { StartedSpan } from './started-span.ts';

/** Instrumentations that end spans in a listener on the response; it runs after the one that ends the server span. */
const ENDED_BY_RESPONSE = new Set([
  '@opentelemetry/instrumentation-express',
  '@opentelemetry/instrumentation-connect',
]);

/** Gives an ended span another end. */
export function setEnd(span: StartedSpan, endTime: HrTime): void {
  span.endTime = endTime;
  if (!('_duration' in span)) return;
  const nanos = endTime[1] - span.startTime[1];
  const seconds = endTime[0] - span.startTime[0];
  (span as { _duration: HrTime })._duration = nanos >= 0 ? [seconds, nanos] : [seconds - 1, nanos + 1e9];
}

/**
 * A handler's span that ends with the response ends no later than the server span above it. The thread may pause between
 * the two listeners; a handler that outlived its request by that pause would look as if nobody had waited for it, and all
 * that happened in it with it.
 */
export function endWithResponse(span: StartedSpan, root: Span): void {
  const server = root as StartedSpan;
  if (server.kind !== SpanKind.SERVER || server.isRecording()) return;
  if (!ENDED_BY_RESPONSE.has(span.instrumentationScope?.name ?? '')) return;
  if (isAfter(span.endTime, server.endTime) && isAfter(server.endTime, span.startTime)) {
    setEnd(span, server.endTime);
  }
}

function isAfter(a: HrTime, b: HrTime): boolean {
  return a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);
}
