import { type Context, context } from '@opentelemetry/api';
import { type Outcome, RESOURCE_EVENT_LOOP, type WaitSegment } from './conventions.ts';
import { now } from './core/clock.ts';
import { countTime, emitSegment } from './core/emit.ts';
import { rootOf } from './core/root.ts';
import { interruptWork, resumeWork } from './core/work.ts';

/** What is known about a queue of one's own. */
export interface QueueOptions {
  /** Servers of the queue in this process; unknown when absent. */
  capacity?: number;
  /** Servers busy when the waiter came. */
  inUse?: number;
  /** Waiters ahead when the waiter came. */
  queueDepth?: number;
  /** Which wait it is. Default `pool_wait`. */
  segment?: WaitSegment;
}

/**
 * Records the time until `acquire` settles as a wait for `resource` in the active request. The result, the
 * error and the order of events are those of `acquire`.
 */
export async function withWait<T>(
  resource: string,
  acquire: () => Promise<T> | T,
  options: QueueOptions = {},
): Promise<T> {
  const parent = context.active();
  const startMs = now();
  let outcome: Outcome = 'rejected';
  try {
    const result = await acquire();
    outcome = 'acquired';
    return result;
  } finally {
    const endMs = now();
    const segment = options.segment ?? 'pool_wait';
    countTime(parent, segment, startMs, endMs);
    emitSegment({ ...options, segment, resource, parent, startMs, endMs, outcome });
  }
}

/** A queue to wait for and to give back. */
export interface HoldOptions extends QueueOptions {
  /** Waits for the resource; absent where nothing can be waited for. */
  acquire?: () => Promise<unknown> | unknown;
  /** Gives it back; runs also when `use` fails. */
  release?: () => unknown;
}

/**
 * Runs `use` while `resource` is held. With `acquire`, the wait before it is recorded too; the hold is
 * written on the wait's span (`waitfall.hold.duration_ns`).
 */
export async function withHold<T>(
  resource: string,
  use: () => Promise<T> | T,
  options: HoldOptions = {},
): Promise<T> {
  const { acquire, release, ...queue } = options;
  const parent = context.active();
  const segment = queue.segment ?? 'pool_wait';
  const startMs = now();
  if (acquire !== undefined) {
    try {
      await acquire();
    } catch (error) {
      const endMs = now();
      countTime(parent, segment, startMs, endMs);
      emitSegment({ ...queue, segment, resource, parent, startMs, endMs, outcome: 'rejected' });
      throw error;
    }
  }
  const endMs = acquire === undefined ? startMs : now();
  countTime(parent, segment, startMs, endMs);
  try {
    return await use();
  } finally {
    try {
      await release?.();
    } finally {
      emitSegment({
        ...queue,
        segment,
        resource,
        parent,
        startMs,
        endMs,
        outcome: 'acquired',
        holdMs: now() - endMs,
      });
    }
  }
}

/** The segment that runs now: one inside it interrupts it. */
let running: Running | undefined;

interface Running {
  readonly name: string;
  readonly parent: Context;
  /** Where what is not recorded of it yet begins. */
  startMs: number;
}

/**
 * Runs a synchronous function and records it as CPU work of the active request (`work`). An asynchronous
 * one is not work: between its awaits others use the CPU. What runs around it is recorded as before and after it: no
 * time is work twice.
 */
export function segment<T>(kind: 'work', run: () => T, name = 'work'): T {
  const parent = context.active();
  const root = rootOf(parent);
  const outer = running;
  const startMs = now();
  if (outer !== undefined) emitPiece(kind, outer, startMs);
  const wasWorking = interruptWork(root, parent, startMs);
  const own: Running = { name, parent, startMs };
  running = own;
  try {
    return run();
  } finally {
    running = outer;
    const endMs = now();
    emitPiece(kind, own, endMs);
    if (outer !== undefined) outer.startMs = endMs;
    if (wasWorking) resumeWork(root, endMs);
  }
}

function emitPiece(kind: 'work', { name, parent, startMs }: Running, endMs: number): void {
  countTime(parent, kind, startMs, endMs);
  emitSegment({ segment: kind, resource: RESOURCE_EVENT_LOOP, name, parent, startMs, endMs });
}
