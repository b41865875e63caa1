import type { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Context, propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import { activeContext, runIn } from '../core/active-context.ts';
import { withSpan } from '../core/context-node.ts';
import { http, https } from '../core/node-http.ts';
import { wrapMethod } from '../core/patch.ts';
import { parentOf } from '../standalone/propagator.ts';
import type { StandaloneProvider } from '../standalone/provider.ts';
import { RecordedSpan } from '../standalone/recorded-span.ts';
import { methodOf } from './method.ts';
import { queuedMs } from './queue-header.ts';
import { routeOf } from './route.ts';
import { ServerAttributes } from './server-attributes.ts';

const kVisit = Symbol('waitfall.visit');
const kOpen = Symbol('waitfall.open_requests');

/** One request of a server, from its first callback to the close of its response. */
class Visit {
  readonly span: RecordedSpan;
  readonly attributes: ServerAttributes;
  readonly active: Context;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  finished = false;
  /** Listeners of Node's own to `finish`: they are there before the service sees the response, and stay. */
  readonly #nodesOwn: number;

  constructor(
    span: RecordedSpan,
    attributes: ServerAttributes,
    active: Context,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    this.span = span;
    this.attributes = attributes;
    this.active = active;
    this.request = request;
    this.response = response;
    this.#nodesOwn = response.listenerCount('finish');
  }

  /** @returns whether a listener of the service's may be called, and outside the request's context. */
  mustEnter(self: EventEmitter, event: string): boolean {
    const ours = event === 'finish' && self === this.response ? this.#nodesOwn : 0;
    return self.listenerCount(event) !== ours && activeContext() !== this.active;
  }
}

interface Marked {
  [kVisit]?: Visit | undefined;
}

interface MarkedSocket {
  [kOpen]?: Set<Visit>;
}

let tracedBy: StandaloneProvider | undefined;

/**
 * Makes the SERVER span of each request of `http` and `https` servers, and keeps its context active in the
 * handler, in the events of the body and in those of the response. One patch of each prototype; no listener
 * on any request.
 */
export function patchHttpServers(provider: StandaloneProvider): void {
  tracedBy = provider;
  patchServer(http.Server.prototype, provider);
  patchServer(https.Server.prototype, provider);
  patchResponse(http.ServerResponse.prototype);
  patchRequest(http.IncomingMessage.prototype);
}

/** As {@link patchHttpServers}; to be called when a service loads `http2`, which others need not pay for. */
export function patchHttp2(http2: typeof import('node:http2')): void {
  const provider = tracedBy;
  if (provider === undefined) return;
  // The classes of its servers are not exported.
  for (const server of [http2.createServer(), http2.createSecureServer({})])
    patchServer(Object.getPrototypeOf(server), provider);
  patchResponse(http2.Http2ServerResponse.prototype);
  patchRequest(http2.Http2ServerRequest.prototype);
}

function patchServer(prototype: object, provider: StandaloneProvider): void {
  wrapMethod(prototype, 'emit', (inner) => {
    return function emit(this: Server, ...args: unknown[]): unknown {
      const event = args[0];
      if (event !== 'request' && event !== 'checkContinue') return inner().apply(this, args);
      const active = begin(provider, args[1] as IncomingMessage, args[2] as ServerResponse);
      return active === undefined ? inner().apply(this, args) : runIn(active, inner(), this, args);
    };
  });
}

function patchResponse(prototype: object): void {
  wrapMethod(prototype, 'emit', (inner) => {
    return function emit(this: ServerResponse & Marked, ...args: unknown[]): unknown {
      const visit = this[kVisit];
      if (visit === undefined) return inner().apply(this, args);
      if (args[0] === 'finish') visit.finished = !isAborted(visit.request);
      const result = visit.mustEnter(this, args[0] as string)
        ? runIn(visit.active, inner(), this, args)
        : inner().apply(this, args);
      if (args[0] === 'close') end(visit);
      return result;
    };
  });
}

/** HTTP/2 says `finish` also for a stream that the client has cancelled. */
function isAborted(request: IncomingMessage): boolean {
  return (
    request.httpVersionMajor === 2 && (request as { stream?: { aborted?: boolean } }).stream?.aborted === true
  );
}

function patchRequest(prototype: object): void {
  wrapMethod(prototype, 'emit', (inner) => {
    return function emit(this: IncomingMessage & Marked, ...args: unknown[]): unknown {
      const visit = this[kVisit];
      return visit?.mustEnter(this, args[0] as string) === true
        ? runIn(visit.active, inner(), this, args)
        : inner().apply(this, args);
    };
  });
}

/** @returns the context of the request, or undefined where it is traced already. */
function begin(
  provider: StandaloneProvider,
  request: IncomingMessage & Marked,
  response: ServerResponse & Marked,
): Context | undefined {
  try {
    if (request[kVisit] !== undefined || provider.isHandedOver) return undefined;
    const { headers } = request;
    const below =
      headers['baggage'] === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, headers);
    const parent = parentOf(headers.traceparent as string | undefined, headers['tracestate']);
    const span = provider.startServer(methodOf(request), parent, queuedMs(headers) ?? 0);
    const active = withSpan(below, span);
    if (!(span instanceof RecordedSpan)) return active;
    const attributes = new ServerAttributes(request);
    span.details = attributes;
    const visit = new Visit(span, attributes, active, request, response);
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
  if (socket === null || visit.response.socket !== null || visit.request.httpVersionMajor > 1) return;
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
  const { span, attributes, request, response } = visit;
  if (span.ended) return;
  try {
    const name = attributes.complete(span, request, response, routeOf(request), visit.finished);
    if (!span.renamed) span.name = name;
  } catch {
    // A request object that is not Node's own: the span ends without some attributes.
  }
  // Assigned, not deleted: deleting would make the objects of every request slow ones.
  (request as Marked)[kVisit] = undefined;
  (response as Marked)[kVisit] = undefined;
  if (request.httpVersionMajor === 1) (request.socket as MarkedSocket | null)?.[kOpen]?.delete(visit);
  span.end();
}
