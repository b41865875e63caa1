import { subscribe } from 'node:diagnostics_channel';
import { context, propagation, type Span } from '@opentelemetry/api';
import { now } from '../core/clock.ts';
import { onUndiciSpan } from '../core/started-span.ts';
import { isTracingSuppressed } from '../core/suppress.ts';
import { type ConnectParts, OutboundCall } from './outbound-call.ts';
import { isPassedOn } from './passed-on.ts';
import type { OutboundSwitch } from './switch.ts';
import { beginConnection, endConnection, patchSockets } from './undici-connections.ts';
import { takeDispatched, undiciResource } from './undici-dispatch.ts';

interface UndiciRequest {
  origin: string | URL;
  method: string;
  path: string;
  headers?: string | string[];
  addHeader?(name: string, value: string): void;
}

interface Connection extends ConnectParts {
  endMs: number;
}

const calls = new WeakMap<UndiciRequest, OutboundCall>();
/** Connections whose first request has not been sent. */
const fresh = new WeakMap<object, Connection>();

/** The official CLIENT span and the call belong to the same request; whichever is published to first comes first. */
let officialSpan: Span | undefined;
let awaitsOfficial: OutboundCall | undefined;

let subscribed = false;

/**
 * Records the calls of `undici` and of the built-in `fetch` from what they publish: new connections, time to
 * the first byte, and, where nobody else does, the CLIENT span.
 */
export function watchUndici(on: OutboundSwitch): void {
  if (subscribed) return;
  subscribed = true;
  patchSockets();
  onUndiciSpan((span) => {
    // Somebody makes these spans: ours would be a second one.
    on.undiciSpans = false;
    if (awaitsOfficial !== undefined) awaitsOfficial.adopt(span, true);
    else officialSpan = span;
    awaitsOfficial = undefined;
  });
  listen<{ request: UndiciRequest }>('undici:request:create', ({ request }) => created(on, request));
  listen<{ connectParams: ConnectParams }>('undici:client:beforeConnect', ({ connectParams }) => {
    beginConnection(keyOf(connectParams));
  });
  listen<{ connectParams: ConnectParams; socket: object }>(
    'undici:client:connected',
    ({ connectParams, socket }) => {
      const parts = endConnection(keyOf(connectParams), socket);
      if (parts !== undefined) fresh.set(socket, { ...parts, endMs: now() });
    },
  );
  listen<{ connectParams: ConnectParams }>('undici:client:connectError', ({ connectParams }) => {
    endConnection(keyOf(connectParams));
  });
  listen<{ request: UndiciRequest; socket: object }>('undici:client:sendHeaders', ({ request, socket }) => {
    const call = calls.get(request);
    if (call === undefined) return;
    const connection = fresh.get(socket);
    fresh.delete(socket);
    const atMs = now();
    if (connection !== undefined && connection.endMs >= call.startMs)
      call.connected(call.resource, connection, connection.endMs, 'acquired');
    call.gotSocket(atMs);
  });
  listen<{ request: UndiciRequest; response: { statusCode: number } }>(
    'undici:request:headers',
    (message) => {
      calls.get(message.request)?.answered(message.response.statusCode);
    },
  );
  listen<{ request: UndiciRequest }>('undici:request:trailers', ({ request }) => finish(request));
  listen<{ request: UndiciRequest; error: Error }>('undici:request:error', ({ request, error }) => {
    const call = calls.get(request);
    if (call === undefined) return;
    if (/timeout/i.test(`${error?.name} ${(error as NodeJS.ErrnoException)?.code}`)) call.timedOut = true;
    else if (/abort/i.test(`${error?.name}`)) call.abortedMs = now();
    call.failed(error);
    finish(request);
  });
}

function listen<T>(name: string, take: (message: T) => void): void {
  subscribe(name, (message) => {
    try {
      take(message as T);
    } catch {
      // An undici whose messages look different: its calls are not recorded.
    }
  });
}

function created(on: OutboundSwitch, request: UndiciRequest): void {
  const official = officialSpan;
  officialSpan = undefined;
  awaitsOfficial = undefined;
  const dispatched = takeDispatched();
  const active = context.active();
  if (!on.outbound || isTracingSuppressed(active)) return;
  const url = new URL(String(request.origin));
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  const call = new OutboundCall(
    {
      method: request.method,
      scheme,
      host: url.hostname,
      port: Number(url.port) || (scheme === 'https' ? 443 : 80),
      path: request.path,
    },
    dispatched?.caller ?? active,
    dispatched?.startMs,
  );
  call.queue = dispatched?.queue;
  call.resource = dispatched?.queue.resource ?? undiciResource(url);
  calls.set(request, call);
  if (official !== undefined) call.adopt(official, true);
  else if (on.undiciSpans) carryOn(request, call);
  else awaitsOfficial = call;
}

function carryOn(request: UndiciRequest, call: OutboundCall): void {
  const outgoing = call.makeSpan();
  const given = headerOf(request, 'traceparent');
  if (given !== undefined && !isPassedOn(given, outgoing)) return;
  propagation.inject(outgoing, request, { set: setHeader });
}

/** Older versions keep headers as one text, newer ones as a list of names and values in turns. */
function headerOf({ headers }: UndiciRequest, name: string): string | undefined {
  if (Array.isArray(headers)) {
    const at = indexOfName(headers, name);
    return at < 0 ? undefined : String(headers[at + 1]);
  }
  return new RegExp(`(?:^|\\n)${name}:([^\\r\\n]*)`, 'i').exec(String(headers ?? ''))?.[1];
}

function indexOfName(headers: readonly unknown[], name: string): number {
  return headers.findIndex((one, at) => at % 2 === 0 && String(one).toLowerCase() === name);
}

function setHeader(request: UndiciRequest, name: string, value: string): void {
  const { headers } = request;
  const at = Array.isArray(headers) ? indexOfName(headers, name) : -1;
  if (Array.isArray(headers) && at >= 0) {
    headers[at + 1] = value;
  } else if (!Array.isArray(headers) && headerOf(request, name) !== undefined) {
    request.headers = String(headers).replace(
      new RegExp(`(^|\\n)${name}:[^\\r\\n]*`, 'i'),
      `$1${name}: ${value}`,
    );
  } else if (typeof request.addHeader === 'function') {
    request.addHeader(name, value);
  } else if (Array.isArray(headers)) {
    headers.push(name, value);
  } else {
    request.headers = `${headers ?? ''}${name}: ${value}\r\n`;
  }
}

function finish(request: UndiciRequest): void {
  const call = calls.get(request);
  if (call === undefined) return;
  calls.delete(request);
  call.endSpan();
  // undici keeps a socket to itself for one turn of the event loop before it takes the next request.
  if (call.queue?.capacity === undefined) call.release();
  else setImmediate(() => call.release());
}

interface ConnectParams {
  protocol?: string;
  host?: string;
  hostname?: string;
  port?: string | number;
}

function keyOf({ protocol, hostname, port }: ConnectParams): string {
  return `${protocol}//${hostname}:${port}`;
}
