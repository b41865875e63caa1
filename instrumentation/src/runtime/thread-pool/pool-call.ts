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
import { Canary, type Measurement } from './canary.ts';
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

/** Work of any kind but name lookups: how long it waited is what a canary behind it waited. */
export function beginWork(): PoolCall {
  const parent = context.active();
  const startMs = now();
  const ahead = inFlight++;
  let measurement: Measurement | undefined;
  return {
    submitted() {
      measurement = canary.measure(ahead + 1 > THREADS);
    },
    cancel() {
      inFlight--;
    },
    end() {
      inFlight--;
      const endMs = now() - loopClock.waitAt(now()).minMs;
      const write = () => {
        const waitMs = Math.min(measurement?.waitMs ?? 0, Math.max(0, endMs - startMs));
        emit(
          parent,
          RESOURCE_THREAD_POOL,
          THREADS,
          ahead,
          Math.max(0, ahead - THREADS),
          startMs,
          waitMs,
          endMs,
          0,
        );
      };
      if (measurement !== undefined && measurement.waitMs === undefined) measurement.waiting.push(write);
      else write();
    },
  };
}

/** A name lookup: it waits for one of the threads that slow work may use. */
export function beginLookup(): PoolCall {
  const parent = openingContext() ?? context.active();
  const lookup = lookups.begin();
  const work = beginUnseen();
  return {
    submitted() {},
    cancel() {
      lookups.end(lookup);
      work();
    },
    end() {
      work();
      const endMs = now();
      lookups.end(lookup, endMs);
      const waitMs = (lookup.begunMs ?? endMs) - lookup.startMs;
      const { inUse, queueDepth, startMs } = lookup;
      emit(
        parent,
        RESOURCE_THREAD_POOL_DNS,
        lookups.capacity,
        inUse,
        queueDepth,
        startMs,
        waitMs,
        endMs,
        waitMs,
      );
    },
  };
}

/** A lookup occupies a thread like any other work. @returns what ends it. */
function beginUnseen(): () => void {
  inFlight++;
  return () => {
    inFlight--;
  };
}

function emit(
  parent: Context,
  resource: string,
  capacity: number,
  ahead: number,
  queueDepth: number,
  startMs: number,
  waitMs: number,
  endMs: number,
  leastMs: number,
): void {
  countTime(parent, 'threadpool_wait', startMs, startMs + waitMs);
  emitSegment({
    segment: 'threadpool_wait',
    resource,
    parent,
    startMs,
    endMs: startMs + waitMs,
    outcome: 'acquired',
    capacity,
    inUse: Math.min(capacity, ahead),
    queueDepth,
    holdMs: Math.max(0, endMs - startMs - waitMs),
    attributes: {
      [ATTR_ESTIMATED]: true,
      [ATTR_ESTIMATE_MIN_NS]: durationNs(0, leastMs),
      [ATTR_ESTIMATE_MAX_NS]: durationNs(0, waitMs),
    },
  });
}
