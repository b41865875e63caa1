import { onAbort } from './on-abort.ts';
import { quietly } from './settle.ts';
import { type Arrival, releaseSlot, SlotWait } from './slot-wait.ts';

// biome-ignore lint/suspicious/noExplicitAny: tasks of any shape
type Task = (...args: any[]) => any;

/** What is used of a limiter of `p-limit`. */
export interface Limit {
  // biome-ignore lint/suspicious/noExplicitAny: tasks of any shape
  (task: Task, ...args: any[]): Promise<any>;
  readonly activeCount: number;
  readonly pendingCount: number;
  readonly concurrency?: number;
}

/** What is used of a queue of `p-queue`. */
export interface TaskQueue {
  // biome-ignore lint/suspicious/noExplicitAny: tasks of any shape
  add(task: Task, options?: any): Promise<any>;
  clear(): void;
  readonly concurrency: number;
  readonly pending: number;
  readonly size: number;
}

interface TaskOptions {
  readonly signal?: AbortSignal;
}

const CLEARED = { name: 'AbortError' };
/** A function's own properties, and those that get a watching stand-in. */
const NOT_COPIED = new Set(['length', 'name', 'prototype', 'clearQueue', 'map']);

/** One task of a limiter: its wait for a slot, then its run. */
class LimitedTask {
  readonly #limiter: object;
  readonly #waiting: Set<LimitedTask>;
  readonly #wait: SlotWait;
  /** Takes back what looks at the task's signal. */
  forgetSignal: (() => void) | undefined;

  constructor(limiter: object, waiting: Set<LimitedTask>, arrival: Arrival) {
    this.#limiter = limiter;
    this.#waiting = waiting;
    this.#wait = new SlotWait(limiter, arrival);
    waiting.add(this);
  }

  started(): void {
    this.forgetSignal?.();
    if (this.#waiting.delete(this)) this.#wait.got(this);
  }

  ended(): void {
    releaseSlot(this.#limiter, this);
  }

  /** It was taken out of the queue. */
  cleared(): void {
    if (this.#waiting.delete(this)) this.#wait.failed(CLEARED);
  }
}

/**
 * Records the waits and holds of a limiter made by `p-limit`: `const limit = wrapLimit(pLimit(4), 'images')`.
 * Its functions are closures that cannot be patched from outside.
 *
 * @returns a limiter that behaves as the given one and takes its place. Resource: `p-limit:NAME`.
 */
export function wrapLimit<L extends Limit>(limit: L, name: string): L {
  const waiting = new Set<LimitedTask>();
  const begin = (): LimitedTask | undefined =>
    quietly(() => {
      const { activeCount, pendingCount, concurrency } = limit;
      const free = concurrency === undefined ? undefined : concurrency - activeCount - pendingCount;
      return new LimitedTask(limit, waiting, {
        resource: `p-limit:${name}`,
        capacity: finite(concurrency),
        inUse: activeCount,
        queueDepth: pendingCount,
        found: free === undefined || free <= 0 ? 'full' : 'idle',
      });
    });
  const watch = (task: Task): Task => {
    const watched = typeof task === 'function' ? begin() : undefined;
    return watched === undefined ? task : run(task, watched);
  };
  const wrapped = (task: Task, ...args: unknown[]) => limit(watch(task), ...args);
  for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(limit))) {
    if (NOT_COPIED.has(key)) continue;
    Object.defineProperty(wrapped, key, descriptor);
  }
  const { clearQueue, map } = limit as unknown as { clearQueue?: Task; map?: Task };
  if (clearQueue !== undefined) {
    Object.defineProperty(wrapped, 'clearQueue', { value: clearing(limit, clearQueue, waiting) });
  }
  if (map !== undefined) Object.defineProperty(wrapped, 'map', { value: watchedMap(map, begin) });
  return wrapped as unknown as L;
}

interface Entry {
  readonly item: unknown;
  readonly watched: LimitedTask | undefined;
}

/** `limit.map` queues every item within the call, past the limiter's own function. */
function watchedMap(map: Task, begin: () => LimitedTask | undefined): Task {
  return (items: Iterable<unknown>, task: Task) => {
    if (typeof task !== 'function' || typeof items?.[Symbol.iterator] !== 'function') return map(items, task);
    return map(eachWatched(items, begin), ({ item, watched }: Entry, index: number) =>
      watched === undefined ? task(item, index) : run(task, watched)(item, index),
    );
  };
}

function* eachWatched(items: Iterable<unknown>, begin: () => LimitedTask | undefined): Generator<Entry> {
  for (const item of items) yield { item, watched: begin() };
}

/**
 * Records the waits and holds of a queue of `p-queue`: `wrapQueue(new PQueue({ concurrency: 4 }), 'mails')`.
 * Only its `add` and `clear` are exchanged on this one object.
 *
 * @returns the same queue. Resource: `p-queue:NAME`. With a rate limit its waits have no fixed capacity behind
 * them; capacity is then the concurrency alone.
 */
export function wrapQueue<Q extends TaskQueue>(queue: Q, name: string): Q {
  const waiting = new Set<LimitedTask>();
  const add = queue.add;
  const clear = queue.clear;
  const watchedAdd: TaskQueue['add'] = function (this: Q, ...args) {
    const [task, options] = args as [Task, TaskOptions | undefined];
    const watched = typeof task === 'function' ? quietly(() => begin(queue, name, waiting)) : undefined;
    if (watched === undefined) return add.apply(this, args);
    const { signal } = options ?? {};
    if (signal !== undefined) watched.forgetSignal = quietly(() => onAbort(signal, () => watched.cleared()));
    return add.apply(this, [run(task, watched), ...args.slice(1)] as Parameters<TaskQueue['add']>);
  };
  Object.defineProperty(queue, 'add', { value: watchedAdd, configurable: true, writable: true });
  Object.defineProperty(queue, 'clear', {
    value: clearing(queue, clear, waiting),
    configurable: true,
    writable: true,
  });
  return queue;
}

function begin(queue: TaskQueue, name: string, waiting: Set<LimitedTask>): LimitedTask {
  return new LimitedTask(queue, waiting, {
    resource: `p-queue:${name}`,
    capacity: finite(queue.concurrency),
    inUse: queue.pending,
    queueDepth: queue.size,
    // Paused or limited by rate, a queue makes wait with slots free.
    found: 'full',
  });
}

/** @returns the task, with its start and its end noted. A thenable it returns is followed once, as before. */
function run(task: Task, watched: LimitedTask): Task {
  return async (...args) => {
    quietly(() => watched.started());
    const ended = () => void quietly(() => watched.ended());
    // A task that ran out of time gives its slot back while it still runs.
    const signal = signalOf(args[0]);
    const forget = signal && quietly(() => onAbort(signal, ended));
    try {
      return await task(...args);
    } finally {
      forget?.();
      ended();
    }
  };
}

function signalOf(argument: unknown): AbortSignal | undefined {
  const signal = (argument as { signal?: unknown } | null | undefined)?.signal;
  return signal instanceof AbortSignal ? signal : undefined;
}

function clearing(limiter: object, clear: Task, waiting: Set<LimitedTask>): Task {
  return function clearQueue(...args) {
    const result = Reflect.apply(clear, limiter, args);
    for (const task of [...waiting]) quietly(() => task.cleared());
    return result;
  };
}

function finite(concurrency: number | undefined): number | undefined {
  return concurrency !== undefined && Number.isFinite(concurrency) ? concurrency : undefined;
}
