import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Attributes, type Span, SpanStatusCode } from '@opentelemetry/api';
import { AttributeKey, AttributeObject, type AttributeSink, Fragment } from '../core/fragment.ts';
import type { SpanDetails } from '../standalone/recorded-span.ts';
import { CLIENT_CLOSED } from './client-closed.ts';
import { methodOf } from './method.ts';

const MAX_URL = 2_048;
const MAX_ROUTES = 2_000;

const kConnection = Symbol('waitfall.connection');

/** What the requests of one connection have in common; a proxy's connection may change it with each request. */
interface ConnectionAttributes {
  readonly method: string | undefined;
  readonly host: string | undefined;
  readonly agent: string | undefined;
  readonly fixed: Fragment;
}

interface MarkedSocket extends Socket {
  [kConnection]?: ConnectionAttributes;
}

const URL_PATH = new AttributeKey('url.path');
const URL_QUERY = new AttributeKey('url.query');
const byStatus: (Fragment | undefined)[] = [];
const byMethod = new Map<string, Map<string, Fragment>>();
const CLOSED = new Fragment({ 'error.type': CLIENT_CLOSED });
const NONE = new Fragment({});

/**
 * Attributes of https://opentelemetry.io/docs/specs/semconv/http/http-spans/ for one request. Most of them are
 * those of its connection, its route and its status, encoded once.
 */
export class ServerAttributes implements SpanDetails {
  /** Read when the request comes: a closed socket has forgotten its peer. */
  readonly #connection: Fragment;
  #route = NONE;
  #path = '';
  #query: string | undefined = undefined;
  #outcome = NONE;
  #closed = false;

  constructor(request: IncomingMessage) {
    this.#connection = connectionOf(request);
  }

  /**
   * The response has closed.
   *
   * @param finished it was written to its end.
   * @returns the name of the span.
   */
  complete(
    span: Span,
    request: IncomingMessage,
    response: ServerResponse,
    route: string | undefined,
    finished: boolean,
  ): string {
    const url = (request as { originalUrl?: string }).originalUrl ?? request.url ?? '/';
    const query = url.indexOf('?');
    this.#path = query < 0 ? url : url.slice(0, query);
    if (this.#path.length > MAX_URL) this.#path = this.#path.slice(0, MAX_URL);
    if (query >= 0) this.#query = url.slice(query + 1, query + 1 + MAX_URL);
    if (finished || response.headersSent) {
      this.#outcome = outcomeOf(response.statusCode);
      if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#closed = !finished;
    const method = methodOf(request);
    if (route === undefined) return method;
    this.#route = namedRoute(method, route);
    return this.#route.name!;
  }

  get fixedName(): string | undefined {
    return this.#route.name;
  }

  writeAttributes(sink: AttributeSink, own: Attributes | undefined): void {
    if (own === undefined) {
      this.#write(sink);
      return;
    }
    // What the service set stays.
    const all = new AttributeObject();
    this.#write(all);
    const left: Attributes = {};
    for (const key of Object.keys(all.attributes)) {
      if (own[key] === undefined) left[key] = all.attributes[key];
    }
    sink.fixed(new Fragment(left));
  }

  #write(sink: AttributeSink): void {
    sink.fixed(this.#connection);
    sink.fixed(this.#route);
    sink.text(URL_PATH, this.#path);
    if (this.#query !== undefined) sink.text(URL_QUERY, this.#query);
    sink.fixed(this.#outcome);
    if (this.#closed) sink.fixed(CLOSED);
  }
}

function connectionOf(request: IncomingMessage): Fragment {
  const { method } = request;
  const { headers } = request;
  const host = headers.host ?? (headers[':authority'] as string | undefined);
  const agent = headers['user-agent'];
  const socket = request.socket as MarkedSocket | null;
  const known = socket?.[kConnection];
  if (known !== undefined && known.method === method && known.host === host && known.agent === agent)
    return known.fixed;
  const fixed = new Fragment(describeConnection(request, host, agent));
  if (socket) socket[kConnection] = { method, host, agent, fixed };
  return fixed;
}

function describeConnection(
  request: IncomingMessage,
  host: string | undefined,
  agent: string | undefined,
): Attributes {
  const method = methodOf(request);
  const attributes: Attributes = {
    'http.request.method': method,
    'url.scheme': (request.socket as { encrypted?: boolean } | null)?.encrypted ? 'https' : 'http',
    'network.protocol.version': request.httpVersion === '2.0' ? '2' : request.httpVersion,
  };
  if (method !== request.method) attributes['http.request.method_original'] = request.method;
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
  return attributes;
}

function outcomeOf(status: number): Fragment {
  const known = byStatus[status];
  if (known !== undefined) return known;
  const attributes: Attributes = { 'http.response.status_code': status };
  if (status >= 500) attributes['error.type'] = String(status);
  const made = new Fragment(attributes);
  // Node lets statuses of three digits through, no others.
  if (status >= 100 && status < 1_000) byStatus[status] = made;
  return made;
}

function namedRoute(method: string, route: string): Fragment {
  let routes = byMethod.get(method);
  if (routes === undefined) byMethod.set(method, (routes = new Map()));
  let named = routes.get(route);
  if (named === undefined) {
    named = new Fragment({ 'http.route': route }, `${method} ${route}`);
    if (routes.size < MAX_ROUTES) routes.set(route, named);
  }
  return named;
}
