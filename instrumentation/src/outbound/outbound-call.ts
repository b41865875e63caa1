import { type Context, context, type Span, SpanKind, trace } from '@opentelemetry/api';
import {
  ATTR_CONNECT_DNS_NS,
  ATTR_CONNECT_TCP_NS,
  ATTR_CONNECT_TLS_NS,
  ATTR_FIRST_BYTE_NS,
  type Outcome,
} from '../conventions.ts';
import { durationNs, now } from '../core/clock.ts';
import { countTime, emitSegment, type ReservedSpan, reserveSpan } from '../core/emit.ts';
import { loopClock } from '../core/loop-clock.ts';
import { emitLoopTail } from '../core/loop-wait.ts';
import { rootOf } from '../core/root.ts';
import { enterWork, leaveWork } from '../core/work.ts';
import { clientAttributes, spanNameOf, type Target } from './client-attributes.ts';
import { connectResource } from './names.ts';

/** The queue of sockets that a call stood in. */
export interface SocketQueue {
  readonly resource: string;
  /** Sockets there may be; undefined where there may be any number: then nobody queues. */
  readonly capacity: number | undefined;
  readonly inUse: number | undefined;
  readonly queueDepth: number | undefined;
}

/** When the parts of opening a connection were done, ms; undefined for those that did not happen or are not known. */
export interface ConnectParts {
  startMs: number;
  lookedUpMs?: number;
  connectedMs?: number;
  securedMs?: number;
}

/**
 * One outgoing request, from the call to the release of its socket: the wait for a socket, the wait for a new
 * connection, and what remains, the remote server's time, as the CLIENT span around them.
 */
export class OutboundCall {
  readonly caller: Context;
  readonly startMs: number;
  /** The queue's name, known before the queue's state is. */
  resource = '';
  queue: SocketQueue | undefined;
  timedOut = false;
  /** When it was given up while it still waited. */
  abortedMs: number | undefined;
  readonly #target: Target;
  #own: ReservedSpan | undefined;
  #adopted: Span | undefined;
  #parent: Context;
  #queueParent: Context;
  #takenMs: number | undefined;
  #sentMs: number;
  #firstByteNs: number | undefined;
  #status: number | undefined;
  #errorType: string | undefined;
  #connecting: ReservedSpan | undefined;
  #ended = false;
  #released = false;

  constructor(target: Target, caller: Context = context.active(), startMs: number = now()) {
    this.caller = caller;
    this.startMs = startMs;
    this.#sentMs = startMs;
    this.#target = target;
    this.#parent = caller;
    this.#queueParent = caller;
    leaveWork(rootOf(caller), caller, startMs);
  }

  /**
   * Somebody else's CLIENT span stands for this call.
   *
   * @param isLate it begins when the call has left its queue: the wait there lies before it, not in it.
   */
  adopt(span: Span, isLate = false): void {
    if (this.#own !== undefined) return;
    this.#adopted = span;
    this.#parent = trace.setSpan(this.caller, span);
    if (!isLate) this.#queueParent = this.#parent;
  }

  /** Nobody else makes a span for this call. @returns the context to carry on to the remote server. */
  makeSpan(): Context {
    this.#own = reserveSpan(this.caller, this.startMs);
    if (this.#own !== undefined) this.#parent = this.#queueParent = this.#own.active;
    return this.#parent;
  }

  /** @returns the context of the coming connection: what happens in it hangs below its wait. */
  connectionContext(): Context {
    this.#connecting ??= reserveSpan(this.#parent, now());
    return this.#connecting?.active ?? this.#parent;
  }

  /** A socket is this call's own from here on. */
  gotSocket(atMs: number): void {
    this.#takenMs ??= atMs;
    this.#sentMs = Math.max(this.#sentMs, atMs);
  }

  /** The new connection is ready, or will never be. */
  connected(resource: string, parts: ConnectParts, endMs: number, outcome: Outcome): void {
    const startMs = Math.max(parts.startMs, this.startMs);
    this.#takenMs = Math.min(this.#takenMs ?? startMs, startMs);
    this.#sentMs = Math.max(this.#sentMs, endMs);
    countTime(this.#parent, 'connection_wait', startMs, endMs);
    emitSegment({
      segment: 'connection_wait',
      resource: connectResource(resource),
      parent: this.#parent,
      startMs,
      endMs,
      outcome,
      errorType: outcome === 'acquired' ? undefined : (this.#errorType ?? outcome),
      attributes: partsOf(parts),
      context: this.#connecting?.spanContext,
      isVisit: this.#connecting !== undefined,
    });
    this.#connecting = undefined;
  }

  /** The first bytes of the response are here. */
  answered(status: number | undefined, atMs: number = now()): void {
    this.#status = status;
    this.#firstByteNs = durationNs(this.#sentMs, atMs);
    // Somebody else's span has not ended yet; ours is written when it does.
    if (this.#own === undefined) this.#adopted?.setAttribute(ATTR_FIRST_BYTE_NS, this.#firstByteNs);
    const wait = loopClock.waitAt(atMs);
    enterWork(rootOf(this.caller), atMs);
    emitLoopTail(this.#parent, wait, this.#sentMs, atMs);
  }

  failed(error: unknown): void {
    const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
    // The code of a DOMException is a number that says less than its name.
    this.#errorType ??= this.timedOut
      ? 'timeout'
      : String(typeof code === 'string' ? code : (name ?? 'error'));
  }

  /** The socket is given back, or was never got: the call is over. */
  end(atMs: number = now()): void {
    this.endSpan(atMs);
    this.release(atMs);
  }

  /** The socket is given back, or was never got. */
  release(atMs: number = now()): void {
    if (this.#released) return;
    this.#released = true;
    this.#emitQueue(atMs);
  }

  /** The answer is here, all of it. */
  endSpan(atMs: number = now()): void {
    if (this.#ended) return;
    this.#ended = true;
    const own = this.#own;
    if (own === undefined) return;
    const status = this.#status;
    // An abort is the caller's decision, not an error: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
    const aborted = this.#errorType !== undefined && /abort/i.test(this.#errorType);
    const errorType = this.#errorType ?? (status !== undefined && status >= 400 ? String(status) : undefined);
    const attributes = clientAttributes(this.#target, status, aborted ? undefined : errorType);
    if (this.#firstByteNs !== undefined) attributes[ATTR_FIRST_BYTE_NS] = this.#firstByteNs;
    own.end(
      spanNameOf(this.#target.method),
      SpanKind.CLIENT,
      atMs,
      attributes,
      errorType !== undefined && !aborted,
    );
  }

  #emitQueue(endMs: number): void {
    const queue = this.queue;
    if (queue === undefined) return;
    const got = this.#takenMs !== undefined;
    const takenMs = this.#takenMs ?? this.abortedMs ?? endMs;
    if (queue.capacity === undefined && got) return;
    const outcome = got
      ? 'acquired'
      : this.timedOut
        ? 'timeout'
        : this.abortedMs !== undefined
          ? 'aborted'
          : 'rejected';
    countTime(this.#queueParent, 'pool_wait', this.startMs, takenMs);
    emitSegment({
      segment: 'pool_wait',
      ...queue,
      parent: this.#queueParent,
      startMs: this.startMs,
      endMs: takenMs,
      outcome,
      errorType: outcome === 'rejected' || outcome === 'timeout' ? (this.#errorType ?? outcome) : undefined,
      holdMs: got ? endMs - takenMs : undefined,
    });
  }
}

function partsOf({ startMs, lookedUpMs, connectedMs, securedMs }: ConnectParts): Record<string, number> {
  const attributes: Record<string, number> = {};
  if (lookedUpMs !== undefined) attributes[ATTR_CONNECT_DNS_NS] = durationNs(startMs, lookedUpMs);
  if (connectedMs !== undefined)
    attributes[ATTR_CONNECT_TCP_NS] = durationNs(lookedUpMs ?? startMs, connectedMs);
  if (connectedMs !== undefined && securedMs !== undefined)
    attributes[ATTR_CONNECT_TLS_NS] = durationNs(connectedMs, securedMs);
  return attributes;
}
