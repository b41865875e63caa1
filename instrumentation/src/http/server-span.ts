import type { EventEmitter } from 'node:events';
import * as http from 'node:http';
import * as https from 'node:https';
import type { Socket } from 'node:net';
import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { wrapMethod } from '../core/patch.ts';
import type { StandaloneProvider } from '../standalone/provider.ts';
import { RecordedSpan } from '../standalone/recorded-span.ts';
import { CLIENT_CLOSED } from './client-closed.ts';
import { routeOf } from './route.ts';

const kVisit = Symbol('waitfall.visit');
const kOpen = Symbol('waitfall.open_requests');

/** One request of a server, from its first callback to the close of its response. */
interface Visit {
  readonly span: RecordedSpan;
  readonly active: Context;
  readonly request: http.IncomingMessage;
  readonly response: http.ServerResponse;
  finished: boolean;
}

interface Marked {
  [kVisit]?: Visit | undefined;
}

interface MarkedSocket {
  [kOpen]?: Set<Visit>;
}

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
const MAX_URL = 2_048;

/**
 * Makes the SERVER span of each request of `http` and `https` servers, and keeps its context active in the
 * handler, in the events of the body and in those of the response. One patch of each prototype; no listener
 * on any request.
 */
export function patchHttpServers(provider: StandaloneProvider): void {
  const aroundServer = (inner: () => (...args: unknown[]) => unknown) =>
    function emit(this: http.Server, event: string, ...args: unknown[]): unknown {
      if (event !== 'request' && event !== 'checkContinue') return inner().call(this, event, ...args);
      const visit = begin(provider, args[0] as http.IncomingMessage, args[1] as http.ServerResponse);
      if (visit === undefined) return inner().call(this, event, ...args);
      return context.with(visit, inner(), this, event, ...args);
    };
  wrapMethod(http.Server.prototype, 'emit', aroundServer);
  wrapMethod(https.Server.prototype, 'emit', aroundServer);
  wrapMethod(http.ServerResponse.prototype, 'emit', (inner) => {
    return function emit(this: http.ServerResponse & Marked, ...args: unknown[]): unknown {
      const visit = this[kVisit];
      if (visit === undefined) return inner().apply(this, args);
      if (args[0] === 'finish') visit.finished = true;
      const result = inContext(visit, inner(), this, args);
      if (args[0] === 'close') end(visit);
      return result;
    };
  });
  wrapMethod(http.IncomingMessage.prototype, 'emit', (inner) => {
    return function emit(this: http.IncomingMessage & Marked, ...args: unknown[]): unknown {
      const visit = this[kVisit];
      return visit === undefined ? inner().apply(this, args) : inContext(visit, inner(), this, args);
    };
  });
}

function inContext(
  visit: Visit,
  emit: (...args: unknown[]) => unknown,
  self: EventEmitter,
  args: unknown[],
): unknown {
  // Most events of a request have no listener: then there is no context to enter either.
  if (self.listenerCount(args[0] as string) === 0) return emit.apply(self, args);
  return context.active() === visit.active
    ? emit.apply(self, args)
    : context.with(visit.active, emit, self, ...args);
}

/** @returns the context of the request, or undefined where it is traced already. */
function begin(
  provider: StandaloneProvider,
  request: http.IncomingMessage & Marked,
  response: http.ServerResponse & Marked,
): Context | undefined {
  try {
    if (request[kVisit] !== undefined) return undefined;
    const { headers } = request;
    const carriesContext = headers['traceparent'] !== undefined || headers['baggage'] !== undefined;
    const parent = carriesContext ? propagation.extract(ROOT_CONTEXT, headers) : ROOT_CONTEXT;
    const span = provider.start(methodOf(request), { kind: SpanKind.SERVER }, parent);
    const active = trace.setSpan(parent, span);
    if (!(span instanceof RecordedSpan)) return active;
    const visit: Visit = { span, active, request, response, finished: false };
    request[kVisit] = visit;
    response[kVisit] = visit;
    trackPipelined(visit);
    return active;
  } catch {
    return undefined;
  }
}

/**
 * A response that still waits for an earlier one of its connection gets neither `finish` nor `close` when the
 * connection breaks: then the close of the connection ends it.
 */
function trackPipelined(visit: Visit): void {
  const socket = visit.request.socket as (Socket & MarkedSocket) | null;
  if (socket === null || visit.response.socket !== null) return;
  let open = socket[kOpen];
  if (open === undefined) {
    open = new Set();
    socket[kOpen] = open;
    const waiting = open;
    socket.once('close', () => {
      for (const other of waiting) end(other);
      waiting.clear();
    });
  }
  open.add(visit);
}

function end(visit: Visit): void {
  const { span, request, response } = visit;
  if (span.ended) return;
  try {
    describe(visit);
  } catch {
    // A request object that is not Node's own: the span ends without some attributes.
  }
  // Assigned, not deleted: deleting would make the objects of every request slow ones.
  (request as Marked)[kVisit] = undefined;
  (response as Marked)[kVisit] = undefined;
  (request.socket as MarkedSocket | null)?.[kOpen]?.delete(visit);
  span.end();
}

/** Attributes of https://opentelemetry.io/docs/specs/semconv/http/http-spans/; what the service set stays. */
function describe({ span, request, response, finished }: Visit): void {
  const method = methodOf(request);
  const route = routeOf(request);
  const url = (request as { originalUrl?: string }).originalUrl ?? request.url ?? '/';
  const query = url.indexOf('?');
  const attributes: Attributes = {
    'http.request.method': method,
    'url.scheme': (request.socket as { encrypted?: boolean } | null)?.encrypted ? 'https' : 'http',
    'url.path': (query < 0 ? url : url.slice(0, query)).slice(0, MAX_URL),
    'network.protocol.version': request.httpVersion,
  };
  if (method === '_OTHER') attributes['http.request.method_original'] = request.method;
  if (query >= 0) attributes['url.query'] = url.slice(query + 1, query + 1 + MAX_URL);
  if (route !== undefined) attributes['http.route'] = route;
  const { host, 'user-agent': agent } = request.headers;
  if (host !== undefined) {
    const port = /:(\d+)$/.exec(host);
    attributes['server.address'] = port === null ? host : host.slice(0, port.index);
    if (port !== null) attributes['server.port'] = Number(port[1]);
  }
  if (agent !== undefined) attributes['user_agent.original'] = agent;
  const { remoteAddress, remotePort } = request.socket ?? {};
  if (remoteAddress !== undefined) {
    attributes['client.address'] = remoteAddress;
    attributes['network.peer.address'] = remoteAddress;
    attributes['network.peer.port'] = remotePort;
  }
  if (finished || response.headersSent) {
    attributes['http.response.status_code'] = response.statusCode;
    if (response.statusCode >= 500) {
      attributes['error.type'] = String(response.statusCode);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
  }
  if (!finished) attributes['error.type'] = CLIENT_CLOSED;
  for (const key of Object.keys(attributes)) {
    if (span.attributes[key] === undefined) span.setAttribute(key, attributes[key]!);
  }
  if (!span.renamed) span.name = route === undefined ? method : `${method} ${route}`;
}

function methodOf(request: http.IncomingMessage): string {
  const method = request.method ?? 'GET';
  return METHODS.has(method) ? method : '_OTHER';
}
