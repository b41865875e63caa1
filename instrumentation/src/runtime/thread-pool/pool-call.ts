import { type Context, context } from '@opentelemetry/api';
import {
  ATTR_ESTIMATE_MAX_NS,
  ATTR_ESTIMATE_MIN_NS,
  ATTR_ESTIMATED,
  RESOURCE_THREAD_POOL,
  RESOURCE_THREAD_POOL_DNS,
} from '../../conventions.ts';
import { durationNs, now } from '../../core/clock.ts';
import { countTime, emitSegment } from '../../core/emit.ts';
import { loopClock } from '../../core/loop-clock.ts';
import { openingContext } from '../../outbound/connecting.ts';
import { Canary, type Waiter } from './canary.ts';
import { LookupQueue } from './lookup-queue.ts';

/** libuv reads it once, when the first job is submitted; 4 by default, 1024 at most. */
const THREADS = Math.min(1_024, Math.max(1, Number(process.env['UV_THREADPOOL_SIZE']) || 4));

const canary = new Canary();
const lookups = new LookupQueue(THREADS);
/** Calls that are with the pool now, as far as they are wrapped. */
let inFlight = 0;

/** A call that uses a thread of the pool, from the call to its callback. */
export interface PoolCall {
  /** The function has handed its work to the pool. */
  submitted(): void;
  /** The callback runs. */
  end(): void;
  /** The function threw: nothing was submitted. */
  cancel(): void;
}

/** One visit of the pool, when all of it is known. */
interface Visit {
  readonly parent: Context;
  readonly resource: string;
  readonly capacity: number;
  readonly inUse: number;
  readonly queueDepth: number;
  readonly startMs: number;
  readonly beginMs: number;
  readonly endMs: number;
  /** Bounds of the wait, ms. */
  readonly leastMs: number;
  readonly mostMs: number;
}

/** Work of any kind but name lookups: canaries before and behind it say when it was taken. */
class Work implements PoolCall, Waiter {
  readonly submittedMs = now();
  endMs: number | undefined;
  readonly #parent = context.active();
  readonly #ahead = inFlight++;
  #followed = false;
  #begun: readonly [beginMs: number, leastMs: number, mostMs: number] | undefined;

  submitted(): void {
    this.#followed = canary.follow(this, this.#ahead >= THREADS);
  }

  cancel(): void {
    inFlight--;
  }

  end(): void {
    inFlight--;
    const atMs = now();
    this.endMs = atMs - loopClock.waitAt(atMs).minMs;
    if (!this.#followed) this.#begun = [this.submittedMs, this.submittedMs, this.submittedMs];
    this.#write();
  }

  begun(beginMs: number, leastMs: number, mostMs: number): void {
    this.#begun = [beginMs, leastMs, mostMs];
    this.#write();
  }

  #write(): void {
    if (this.endMs === undefined || this.#begun === undefined) return;
    const startMs = this.submittedMs;
    const endMs = Math.max(startMs, this.endMs);
    const [begunMs, leastMs, mostMs] = this.#begun;
    emit({
      parent: this.#parent,
      resource: RESOURCE_THREAD_POOL,
      capacity: THREADS,
      inUse: Math.min(THREADS, this.#ahead),
      queueDepth: Math.max(0, this.#ahead - THREADS),
      startMs,
      beginMs: Math.min(begunMs, endMs),
      endMs,
      leastMs: Math.min(leastMs, endMs) - startMs,
      mostMs: Math.min(mostMs, endMs) - startMs,
    });
  }
}

/** A name lookup: it waits for one of the threads that slow work may use. */
class NameLookup implements PoolCall {
  readonly #parent = openingContext() ?? context.active();
  readonly #lookup = lookups.begin();

  constructor() {
    // It occupies a thread like any other work.
    inFlight++;
  }

  submitted(): void {}

  cancel(): void {
    inFlight--;
    lookups.end(this.#lookup);
  }

  end(): void {
    inFlight--;
    const endMs = now();
    lookups.end(this.#lookup, endMs);
    const { startMs, begunMs = endMs, inUse, queueDepth } = this.#lookup;
    emit({
      parent: this.#parent,
      resource: RESOURCE_THREAD_POOL_DNS,
      capacity: lookups.capacity,
      inUse,
      queueDepth,
      startMs,
      beginMs: begunMs,
      endMs,
      leastMs: begunMs - startMs,
      mostMs: begunMs - startMs,
    });
  }
}

export const beginWork = (): PoolCall => new Work();
export const beginLookup = (): PoolCall => new NameLookup();

function emit(visit: Visit): void {
  const { parent, startMs, beginMs, endMs } = visit;
  countTime(parent, 'threadpool_wait', startMs, beginMs);
  emitSegment({
    segment: 'threadpool_wait',
    resource: visit.resource,
    parent,
    startMs,
    endMs: beginMs,
    outcome: 'acquired',
    capacity: visit.capacity,
    inUse: visit.inUse,
    queueDepth: visit.queueDepth,
    holdMs: endMs - beginMs,
    attributes: {
      [ATTR_ESTIMATED]: true,
      [ATTR_ESTIMATE_MIN_NS]: durationNs(0, visit.leastMs),
      [ATTR_ESTIMATE_MAX_NS]: durationNs(0, visit.mostMs),
    },
  });
}
