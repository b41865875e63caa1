import type { IncomingMessage } from 'node:http';
import { METHODS } from '../core/http-methods.ts';

/** @returns the method of a request as spans say it. */
export function methodOf(request: IncomingMessage): string {
  const method = request.method ?? 'GET';
  // Most requests are one of these: no look-up for them.
  return method === 'GET' || method === 'POST' || METHODS.has(method) ? method : '_OTHER';
}
