import type { IncomingHttpHeaders } from 'node:http';
import type { Span } from '@opentelemetry/api';
import { moveStart } from '../core/request.ts';
import type { StartedSpan } from '../core/started-span.ts';
import { markClientClosed } from './client-closed.ts';
import { queuedMs } from './queue-header.ts';

interface MessageLike {
  readonly headers?: IncomingHttpHeaders;
}

/**
 * Settings for a `HttpInstrumentation` of OpenTelemetry that make its server spans say what ours do: a client
 * that left before its response, and, where `X-Request-Start` is believed, the time in front of the service.
 */
export function httpInstrumentationHooks(): {
  requestHook: (span: Span, request: object) => void;
  applyCustomAttributesOnSpan: typeof markClientClosed;
} {
  return {
    requestHook: (span, request) => {
      // Requests of clients come here too: theirs have no headers property.
      const { headers } = request as MessageLike;
      const waitedMs = headers === undefined ? undefined : queuedMs(headers);
      if (waitedMs !== undefined) moveStart(span as StartedSpan, waitedMs);
    },
    applyCustomAttributesOnSpan: markClientClosed,
  };
}
