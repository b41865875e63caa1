import type { IncomingMessage } from 'node:http';

/** Methods that may stand in a span name; others are `_OTHER`, so that names stay few. */
const METHODS = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'CONNECT',
  'OPTIONS',
  'TRACE',
  'PATCH',
  'QUERY',
]);

/** @returns the method of a request as spans say it. */
export function methodOf(request: IncomingMessage): string {
  const method = request.method ?? 'GET';
  // Most requests are one of these: no look-up for them.
  return method === 'GET' || method === 'POST' || METHODS.has(method) ? method : '_OTHER';
}
