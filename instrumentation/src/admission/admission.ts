import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Context, context } from '@opentelemetry/api';
import { type Outcome, RESOURCE_HTTP_SERVER } from '../conventions.ts';
import { now } from '../core/clock.ts';
import { countTime, emitSegment } from '../core/emit.ts';
import { type Linked, LinkedList } from '../core/linked-list.ts';
import { onShutdown } from '../core/shutdown.ts';
import { addServerTiming } from './server-timing.ts';
import { type SlotStats, Slots, type SlotTicket } from './slots.ts';

export interface AdmissionOptions {
  /** Requests worked on at the same time. */
  maxConcurrent: number;
  /** Requests that may wait for a slot. Default 0: what finds no free slot is turned away. */
  maxQueue?: number;
  /** Longest wait for a slot, ms. Default: no limit. */
  timeoutMs?: number;
  /** Resource name in spans and reports. Default `http.server`. */
  name?: string;
}

/** Middleware of express, connect and plain `http`: calls `next` when the request has a slot. */
export interface Admission {
  (_req: IncomingMessage, res: ServerResponse, next: () => void): void;
  /** Counts since the start, and what is active and waiting now. */
  stats(): SlotStats;
}

/** Why a request was turned away: the body of the 503. */
export type AdmissionRefusal = 'queue full' | 'timeout';

/**
 * Admits a bounded number of requests, queues a bounded number, and answers 503 to the others. The slot is
 * held to the close of the response, whoever ends it. The wait and the hold become one span a request.
 */
export function admission(options: AdmissionOptions): Admission {
  const name = options.name ?? RESOURCE_HTTP_SERVER;
  const slots = new Slots({
    maxConcurrent: options.maxConcurrent,
    maxQueue: options.maxQueue ?? 0,
    timeoutMs: options.timeoutMs ?? Number.POSITIVE_INFINITY,
  });
  const holdMean = new HoldMean();
  const open = new LinkedList<Visit>();
  onShutdown(() => {
    for (const visit of open.items()) visit.end(visit.ticket?.waiting === true ? 'aborted' : 'acquired');
  });

  const middleware = (_req: IncomingMessage, res: ServerResponse, next: () => void): void => {
    if (res.closed || res.destroyed) {
      slots.countAborted();
      return;
    }
    const visit = new Visit(name, slots, open);
    // A request that queued continues in the release of another one: its own async context is kept here.
    let scope: AsyncResource | undefined;
    const onClose = () => {
      const waiting = visit.ticket?.waiting === true;
      visit.ticket?.leave();
      if (!waiting) holdMean.add(now() - visit.grantedMs);
      visit.end(waiting ? 'aborted' : 'acquired');
    };
    res.once('close', onClose);
    visit.ticket = slots.enter({
      granted: () => {
        visit.granted();
        addServerTiming(res, visit.enqueuedMs, visit.grantedMs);
        if (scope === undefined) next();
        else scope.runInAsyncScope(next, undefined);
      },
      timedOut: () => {
        res.removeListener('close', onClose);
        visit.end('timeout', 'admission_timeout');
        refuse(res, 'timeout', holdMean.retryAfterSeconds(slots));
      },
    });
    if (visit.ticket === undefined) {
      res.removeListener('close', onClose);
      visit.end('rejected', 'queue_full');
      refuse(res, 'queue full', holdMean.retryAfterSeconds(slots));
    } else if (visit.ticket.waiting) {
      scope = new AsyncResource('WaitfallAdmission');
    }
  };
  return Object.assign(middleware, { stats: () => slots.stats() });
}

/** One request at the slots, until its span is written. */
class Visit implements Linked<Visit> {
  previous: Visit | undefined = undefined;
  next: Visit | undefined = undefined;
  isListed = false;
  readonly parent: Context = context.active();
  readonly enqueuedMs = now();
  ticket: SlotTicket | undefined;
  grantedMs = 0;
  readonly #name: string;
  readonly #capacity: number;
  readonly #inUse: number;
  readonly #queueDepth: number;
  readonly #open: LinkedList<Visit>;

  constructor(name: string, slots: Slots, open: LinkedList<Visit>) {
    this.#name = name;
    this.#capacity = slots.limits.maxConcurrent;
    this.#inUse = slots.active;
    this.#queueDepth = slots.waiting;
    this.#open = open;
    open.add(this);
  }

  granted(): void {
    // Granted within `enter`: it did not wait.
    this.grantedMs = this.ticket === undefined ? this.enqueuedMs : now();
    countTime(this.parent, 'admission_wait', this.enqueuedMs, this.grantedMs);
  }

  /** Writes the span, once. */
  end(outcome: Outcome, errorType?: string): void {
    if (!this.#open.delete(this)) return;
    const atMs = now();
    const acquired = outcome === 'acquired';
    const endMs = acquired ? this.grantedMs : atMs;
    if (!acquired) countTime(this.parent, 'admission_wait', this.enqueuedMs, endMs);
    emitSegment({
      segment: 'admission_wait',
      resource: this.#name,
      parent: this.parent,
      startMs: this.enqueuedMs,
      endMs,
      outcome,
      errorType,
      capacity: this.#capacity,
      inUse: this.#inUse,
      queueDepth: this.#queueDepth,
      holdMs: acquired ? atMs - this.grantedMs : undefined,
    });
  }
}

/** Moving mean of the holds: what `Retry-After` is computed from. */
class HoldMean {
  #meanMs = 0;

  add(holdMs: number): void {
    this.#meanMs = this.#meanMs === 0 ? holdMs : this.#meanMs * 0.9 + holdMs * 0.1;
  }

  /** @returns whole seconds in which the present queue drains, at least 1. */
  retryAfterSeconds(slots: Slots): number {
    const drainMs = (this.#meanMs * (slots.waiting + 1)) / slots.limits.maxConcurrent;
    return Math.min(60, Math.max(1, Math.ceil(drainMs / 1e3)));
  }
}

function refuse(res: ServerResponse, reason: AdmissionRefusal, retryAfterSeconds: number): void {
  if (res.headersSent) return;
  const body = JSON.stringify({ error: 'overloaded', reason, retryAfterSeconds });
  res.statusCode = 503;
  res.setHeader('Retry-After', String(retryAfterSeconds));
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.end(body);
}
