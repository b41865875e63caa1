/** `error.type` of a server span whose client left before the response was complete: not the service's failure. */
export const CLIENT_CLOSED = 'client_closed';

/**
 * For the official http instrumentation, which calls it before it ends a server span (and with other objects for client
 * spans): says on the span that the client left. Without it an abandoned request passes for an answered one.
 */
export function markClientClosed(
  span: { setAttribute(key: string, value: string): unknown },
  _request: unknown,
  response: { writableFinished?: boolean },
): void {
  if (response.writableFinished === false) span.setAttribute('error.type', CLIENT_CLOSED);
}
