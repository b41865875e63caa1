import type { Attributes } from '@opentelemetry/api';
import { METHODS } from '../core/http-methods.ts';

/** Where an outgoing request goes. */
export interface Target {
  readonly method: string;
  /** `http` or `https`. */
  readonly scheme: string;
  readonly host: string;
  readonly port: number | undefined;
  /** With the query; only the part before it is written. */
  readonly path: string;
}

const MAX_URL = 2_048;

/** @returns a method that may stand in a span name; others are `HTTP`, as the conventions have it. */
export function spanNameOf(method: string): string {
  return METHODS.has(method) ? method : 'HTTP';
}

/**
 * Attributes of https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client-span. The query is left
 * out: it may hold what must not be in a trace.
 */
export function clientAttributes(
  target: Target,
  status: number | undefined,
  errorType: string | undefined,
): Attributes {
  const { method, scheme, host, port, path } = target;
  const known = METHODS.has(method);
  const query = path.search(/[?#]/);
  const bare = (query < 0 ? path : path.slice(0, query)).slice(0, MAX_URL);
  const address = port === undefined ? host : `${host}:${port}`;
  const attributes: Attributes = {
    'http.request.method': known ? method : '_OTHER',
    'server.address': host,
    'url.full': bare.startsWith('/') ? `${scheme}://${address}${bare}` : bare,
  };
  if (!known) attributes['http.request.method_original'] = method;
  if (port !== undefined) attributes['server.port'] = port;
  if (status !== undefined) attributes['http.response.status_code'] = status;
  if (errorType !== undefined) attributes['error.type'] = errorType;
  return attributes;
}
