import { type Context, context } from '@opentelemetry/api';
import {
  ATTR_ESTIMATE_MAX_NS,
  ATTR_ESTIMATE_MIN_NS,
  ATTR_ESTIMATED,
  RESOURCE_DNS,
  RESOURCE_FILE_SYSTEM,
  RESOURCE_THREAD_POOL,
  RESOURCE_THREAD_POOL_DNS,
} from '../../conventions.ts';
import { durationNs, now } from '../../core/clock.ts';
import { countTime, emitSegment } from '../../core/emit.ts';
import { loopClock } from '../../core/loop-clock.ts';
import { openingContext } from '../../outbound/connecting.ts';
import { Canary, type Waiter } from './canary.ts';
import { type Job, PoolQueue } from './pool-queue.ts';

/** libuv reads it once, when the first job is submitted; 4 by default, 1024 at most. */
const THREADS = Math.min(1_024, Math.max(1, Number(process.env['UV_THREADPOOL_SIZE']) || 4));

const queue = new PoolQueue(THREADS);
const canary = new Canary(() => queue.isFull);

/** A call that uses a thread of the pool, from the call to its callback. */
export interface PoolCall {
  /** The function has handed its work to the pool. */
  submitted(): void;
  /** The callback runs. */
  end(): void;
  /** The function threw: nothing was submitted. */
  cancel(): void;
}

/** What a thread does for a call: uses a core, or waits for a disk. */
export type PoolWork = 'cpu' | 'files';

/** When a thread took a call, and the bounds of that, ms. */
interface Begin {
  readonly beginMs: number;
  readonly leastMs: number;
  readonly mostMs: number;
}

/**
 * Work of any kind but name lookups. Counted: with all threads taken, the end of one call is the beginning of the next.
 * What is not counted (native addons, the steps of one call) shows in the canaries before and behind it, which bound it.
 */
class Work implements PoolCall, Waiter {
  readonly submittedMs = now();
  endMs: number | undefined;
  readonly #parent = context.active();
  readonly #name: string;
  readonly #work: PoolWork;
  readonly #job: Job = queue.begin(this.submittedMs, false);
  readonly #waits = this.#job.begunMs === undefined;
  #followed = false;
  #bounds: Begin | undefined;

  constructor(name: string, work: PoolWork) {
    this.#name = name;
    this.#work = work;
  }

  submitted(): void {
    this.#followed = canary.follow(this, this.#waits);
  }

  cancel(): void {
    queue.end(this.#job, this.submittedMs);
  }

  end(): void {
    const atMs = now();
    // The callback may have waited for the event loop; the thread had done its work by then.
    const endMs = Math.max(this.#job.begunMs ?? this.submittedMs, atMs - loopClock.waitAt(atMs).minMs);
    this.endMs = endMs;
    queue.end(this.#job, endMs);
    if (!this.#followed) {
      this.#bounds = { beginMs: this.submittedMs, leastMs: this.submittedMs, mostMs: this.submittedMs };
    }
    this.#write();
  }

  begun(beginMs: number, leastMs: number, mostMs: number): void {
    this.#bounds = { beginMs, leastMs, mostMs };
    this.#write();
  }

  #write(): void {
    if (this.endMs === undefined || this.#bounds === undefined) return;
    const startMs = this.submittedMs;
    const endMs = Math.max(startMs, this.endMs);
    const leastMs = Math.min(this.#bounds.leastMs, endMs);
    const mostMs = Math.min(this.#bounds.mostMs, endMs);
    const counted = this.#waits ? this.#job.begunMs : undefined;
    const beginMs = Math.min(Math.max(counted ?? this.#bounds.beginMs, leastMs), mostMs);
    emitWait(RESOURCE_THREAD_POOL, THREADS, this.#job, this.#parent, { beginMs, leastMs, mostMs }, endMs);
    if (this.#work === 'cpu') emitWork(this.#name, this.#parent, beginMs, endMs);
    else emitDownstream(this.#name, RESOURCE_FILE_SYSTEM, this.#parent, beginMs, endMs);
  }
}

/** A name lookup: it waits for one of the threads that slow work may use. */
class NameLookup implements PoolCall {
  /** Where it belongs to a connection that is being opened, all of it is that connection's time. */
  readonly #opening = openingContext();
  readonly #parent = this.#opening ?? context.active();
  readonly #job = queue.begin(now(), true);

  submitted(): void {}

  cancel(): void {
    queue.end(this.#job, this.#job.startMs);
  }

  end(): void {
    const endMs = now();
    queue.end(this.#job, endMs);
    const beginMs = this.#job.begunMs ?? endMs;
    const begin = { beginMs, leastMs: beginMs, mostMs: beginMs };
    emitWait(RESOURCE_THREAD_POOL_DNS, queue.slowThreads, this.#job, this.#parent, begin, endMs);
    if (this.#opening === undefined) emitDownstream('dns.lookup', RESOURCE_DNS, this.#parent, beginMs, endMs);
  }
}

export const beginWork = (name: string, work: PoolWork): PoolCall => new Work(name, work);
export const beginLookup = (): PoolCall => new NameLookup();

function emitWait(
  resource: string,
  capacity: number,
  { startMs, inUse, queueDepth }: Job,
  parent: Context,
  { beginMs, leastMs, mostMs }: Begin,
  endMs: number,
): void {
  countTime(parent, 'threadpool_wait', startMs, beginMs);
  emitSegment({
    segment: 'threadpool_wait',
    resource,
    parent,
    startMs,
    endMs: beginMs,
    outcome: 'acquired',
    capacity,
    inUse,
    queueDepth,
    holdMs: endMs - beginMs,
    attributes: {
      [ATTR_ESTIMATED]: true,
      [ATTR_ESTIMATE_MIN_NS]: durationNs(startMs, leastMs),
      [ATTR_ESTIMATE_MAX_NS]: durationNs(startMs, mostMs),
    },
  });
}

/** The core a thread used is not that of the event loop: it is not part of the root's sum of work. */
function emitWork(name: string, parent: Context, startMs: number, endMs: number): void {
  emitSegment({ segment: 'work', resource: RESOURCE_THREAD_POOL, name, parent, startMs, endMs });
}

/** The thread did nothing but wait for somebody else. */
function emitDownstream(
  name: string,
  resource: string,
  parent: Context,
  startMs: number,
  endMs: number,
): void {
  countTime(parent, 'downstream', startMs, endMs);
  emitSegment({ segment: 'downstream', resource, name, parent, startMs, endMs });
}
