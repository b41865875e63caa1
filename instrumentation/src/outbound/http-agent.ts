import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { context, propagation, type Span, SpanKind, trace } from '@opentelemetry/api';
import { PREFIX_HTTP_AGENT } from '../conventions.ts';
import { now } from '../core/clock.ts';
import { http } from '../core/node-http.ts';
import { wrapMethod } from '../core/patch.ts';
import type { StartedSpan } from '../core/started-span.ts';
import { isTracingSuppressed } from '../core/suppress.ts';
import { openingFor } from './connecting.ts';
import { remoteResource } from './names.ts';
import { OutboundCall, type SocketQueue } from './outbound-call.ts';
import { isPassedOn } from './passed-on.ts';
import { watchConnection } from './socket-connection.ts';
import type { OutboundSwitch } from './switch.ts';

const OFFICIAL = '@opentelemetry/instrumentation-http';
/** Finding a call's place among more hosts than these would cost more than it tells. */
const MAX_HOSTS = 64;

const kCall = Symbol('waitfall.outbound_call');

interface Request extends ClientRequest {
  [kCall]?: OutboundCall | undefined;
}

interface AgentOptions {
  host?: string;
  hostname?: string;
  port?: number | string;
  socketPath?: string;
}

/** Official CLIENT spans that stand for a call already: one span, one call. */
const adopted = new WeakSet<Span>();

/**
 * Records the calls of `http` and `https` clients: the queue of a limited Agent, new connections, and, where
 * nobody else does, the CLIENT span. Methods of three prototypes; no listener on any request.
 */
export function patchHttpClients(on: OutboundSwitch): void {
  wrapMethod(http.Agent.prototype, 'addRequest', (inner) => {
    return function addRequest(this: Agent, request: Request, options: AgentOptions, ...rest: unknown[]) {
      const call = on.outbound ? begin(on, request, options) : undefined;
      if (call === undefined) return inner().call(this, request, options, ...rest);
      const result = openingFor(call, () => inner().call(this, request, options, ...rest));
      try {
        call.queue = queueOf(this, request, call.resource);
      } catch {
        // An agent that is built differently: its queue is not known.
      }
      return result;
    };
  });
  wrapMethod(http.ClientRequest.prototype, 'onSocket', (inner) => {
    return function onSocket(this: Request, socket: Socket | null, error?: Error) {
      try {
        gotSocket(on, this, socket, error);
      } catch {
        // A socket that is not Node's own.
      }
      return inner().call(this, socket, error);
    };
  });
  wrapMethod(http.ClientRequest.prototype, 'destroy', (inner) => {
    return function destroy(this: Request, ...args: unknown[]) {
      const call = this[kCall];
      if (call !== undefined) call.abortedMs ??= now();
      return inner().apply(this, args);
    };
  });
  // Node destroys a message that was read to its end, right after it has said so: the request may be closed much later.
  wrapMethod(http.IncomingMessage.prototype, '_destroy', (inner) => {
    return function _destroy(this: { req?: Request }, ...args: unknown[]) {
      try {
        this.req?.[kCall]?.endSpan();
      } catch {
        // Nothing here may reach the service.
      }
      return inner().apply(this, args);
    };
  });
  wrapMethod(http.ClientRequest.prototype, 'emit', (inner) => {
    return function emit(this: Request, ...args: unknown[]) {
      if (this[kCall] !== undefined) observe(this, this[kCall], args);
      return inner().apply(this, args);
    };
  });
}

function begin(on: OutboundSwitch, request: Request, options: AgentOptions): OutboundCall | undefined {
  try {
    const active = context.active();
    if (request[kCall] !== undefined || isTracingSuppressed(active)) return undefined;
    const call = new OutboundCall(
      {
        method: request.method,
        scheme: request.protocol === 'https:' ? 'https' : 'http',
        host: hostOf(options, request),
        port: Number(options?.port) || undefined,
        path: request.path,
      },
      active,
    );
    call.resource = resourceOf(options, request);
    const span = trace.getSpan(active) as StartedSpan | undefined;
    if (
      span?.kind === SpanKind.CLIENT &&
      span.instrumentationScope?.name === OFFICIAL &&
      !adopted.has(span)
    ) {
      adopted.add(span);
      call.adopt(span);
    } else if (on.httpSpans) {
      carryOn(request, call);
    }
    request[kCall] = call;
    return call;
  } catch {
    return undefined;
  }
}

/** Headers given as a list, and those of `Expect: 100-continue`, are fixed before anybody can add to them. */
function carryOn(request: Request, call: OutboundCall): void {
  const outgoing = call.makeSpan();
  if (request.headersSent || (request as { _header?: unknown })._header != null) return;
  const given = request.getHeader('traceparent');
  if (given !== undefined && !isPassedOn(given, outgoing)) return;
  propagation.inject(outgoing, request, { set: (carrier, key, value) => carrier.setHeader(key, value) });
}

function hostOf(options: AgentOptions | undefined, request: Request): string {
  return options?.host || options?.hostname || request.host || 'localhost';
}

function resourceOf(options: AgentOptions, request: Request): string {
  if (options?.socketPath) return `${PREFIX_HTTP_AGENT}unix`;
  return remoteResource(PREFIX_HTTP_AGENT, hostOf(options, request), options?.port);
}

/** Where the call stands now that the agent has dealt with it: at the end of a queue, or last among those served. */
function queueOf(agent: Agent, request: Request, resource: string): SocketQueue {
  const limit = Math.min(agent.maxSockets, agent.maxTotalSockets);
  if (!Number.isFinite(limit))
    return { resource, capacity: undefined, inUse: undefined, queueDepth: undefined };
  let inUse: number | undefined;
  let queueDepth: number | undefined;
  const queued = Object.entries(agent.requests).slice(0, MAX_HOSTS);
  const mine = queued.find(([, list]) => list?.at(-1) === request);
  if (mine !== undefined) {
    queueDepth = mine[1]!.length - 1;
    inUse = Math.min(limit, agent.sockets[mine[0]]?.length ?? 0);
  } else {
    queueDepth = 0;
    const socket = (request as { [kSocket]?: Socket })[kSocket];
    const served = Object.values(agent.sockets)
      .slice(0, MAX_HOSTS)
      .find((list) => list?.at(-1) === socket);
    if (served !== undefined) inUse = served.length - 1;
  }
  return { resource, capacity: limit, inUse, queueDepth };
}

const kSocket = Symbol('waitfall.socket');

function gotSocket(on: OutboundSwitch, request: Request, socket: Socket | null, error?: Error): void {
  let call = request[kCall];
  if (call === undefined) {
    // Only a request without an agent comes here first.
    if (!on.outbound || (request as { agent?: unknown }).agent) return;
    call = begin(on, request, { host: request.host, port: undefined });
    if (call === undefined) return;
  }
  if (error || socket === null || request.destroyed) return;
  const atMs = now();
  (request as { [kSocket]?: Socket })[kSocket] = socket;
  call.gotSocket(atMs);
  watchConnection(call, socket, call.resource, atMs);
}

function observe(request: Request, call: OutboundCall, [event, value]: unknown[]): void {
  try {
    if (event === 'response') call.answered((value as IncomingMessage).statusCode);
    else if (event === 'timeout') call.timedOut = true;
    else if (event === 'error') call.failed(value);
    else if (event === 'close') {
      // Assigned, not deleted: deleting would make the objects of every request slow ones.
      request[kCall] = undefined;
      (request as { [kSocket]?: Socket | undefined })[kSocket] = undefined;
      call.end();
    }
  } catch {
    // Nothing here may reach the service.
  }
}
