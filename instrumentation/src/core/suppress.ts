import { type Context, createContextKey } from '@opentelemetry/api';

/** The key under which the SDK marks what must not be traced, such as its exporters' own requests. */
const SUPPRESSED = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/** @returns a context in which no spans are made. */
export function suppressTracing(active: Context): Context {
  return active.setValue(SUPPRESSED, true);
}

/** @returns whether spans must not be made in a context. */
export function isTracingSuppressed(active: Context): boolean {
  return active.getValue(SUPPRESSED) === true;
}
