import type { ResourceKind } from '../classify/types.ts';
import type { Queue } from './activity.ts';

const SHARED_KINDS = new Set<ResourceKind>(['lock', 'downstream']);

function keyOf(kind: ResourceKind, name: string, service: string): string {
  if (kind === 'lock' || kind === 'downstream') return `${kind}\0${name}`;
  return `${service}\0${name}`;
}

/** When in an analysis something was met: step by step over all requests, in a request span by span. */
export const STEP = { spans: 0, statedHolds: 1, detachedHolds: 2, holdSpans: 3 } as const;

/** When a queue or a process of it was met. */
interface Appearance {
  readonly part: number;
  readonly step: number;
  readonly request: number;
  readonly turn: number;
  readonly kind: ResourceKind;
  readonly service: string;
}

/** Where each part met a queue first, and each process of it. */
interface Met {
  readonly queue: Appearance[];
  readonly instances: Appearance[][];
}

/** The queues of some parts, to be handed to another thread. */
export interface PackedQueues {
  readonly queues: readonly Queue[];
  readonly met: readonly Met[];
}

/**
 * Finds or adds the queue of a name.
 *
 * An input may be gone through in parts, whose requests are in order within the part only. {@link settle} numbers queues
 * and processes in the order in which one pass over all requests meets them.
 */
export class QueueIndex {
  readonly queues: Queue[] = [];
  readonly #ids = new Map<string, number>();
  readonly #met: Met[] = [];
  #part = 0;
  #step = 0;
  #request = 0;
  #turn = 0;

  /** What is met from here on is met in this part of the input. */
  startPart(part: number): void {
    this.#part = part;
  }

  /** What is met from here on is met in this step, at this request. */
  at(step: number, request: number): void {
    this.#step = step;
    this.#request = request;
  }

  of(kind: ResourceKind, name: string, service: string): Queue {
    const id = this.#idOf(kind, name, service);
    this.#meet(this.#met[id].queue, kind, service);
    return this.queues[id];
  }

  #idOf(kind: ResourceKind, name: string, service: string): number {
    const key = keyOf(kind, name, service);
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.queues.length;
      this.#ids.set(key, id);
      this.#met.push({ queue: [], instances: [] });
      this.queues.push({
        index: id,
        name,
        kind,
        scope: SHARED_KINDS.has(kind) ? 'shared' : 'process',
        service,
        instances: [],
        statedCapacity: [],
        leastCapacity: [],
        maxInUse: [],
        queuedInUse: [],
        holdsRebuilt: false,
      });
    }
    return id;
  }

  /** Index of a queue already known, -1 else. */
  find(kind: ResourceKind, name: string, service: string): number {
    return this.#ids.get(keyOf(kind, name, service)) ?? -1;
  }

  instance(queue: Queue, name: string): number {
    const at = this.#instanceOf(queue, queue.scope === 'shared' ? '' : name);
    this.#meet(this.#met[queue.index].instances[at], queue.kind, '');
    return at;
  }

  #instanceOf(queue: Queue, own: string): number {
    let at = queue.instances.indexOf(own);
    if (at < 0) {
      at = queue.instances.push(own) - 1;
      this.#met[queue.index].instances.push([]);
      queue.statedCapacity.push(null);
      queue.leastCapacity.push(null);
      queue.maxInUse.push(0);
      queue.queuedInUse.push(0);
    }
    return at;
  }

  pack(): PackedQueues {
    return { queues: this.queues, met: this.#met };
  }

  /**
   * Adds the queues of other parts.
   *
   * @param firstRequest number of their first request here
   * @returns the number of each of their queues here, and of each of its instances
   */
  merge({ queues, met }: PackedQueues, firstRequest: number): { queue: Int32Array; instances: Int32Array[] } {
    const moved = (all: readonly Appearance[]) =>
      all.map((one) => ({ ...one, request: firstRequest + one.request }));
    const queue = Int32Array.from(queues, ({ kind, name, service }) => this.#idOf(kind, name, service));
    const instances = queues.map((other, i) => {
      const own = this.queues[queue[i]];
      const ownMet = this.#met[queue[i]];
      ownMet.queue.push(...moved(met[i].queue));
      return Int32Array.from(other.instances, (name, k) => {
        const at = this.#instanceOf(own, name);
        ownMet.instances[at].push(...moved(met[i].instances[k]));
        noteStated(own, at, other.statedCapacity[k]);
        noteStated(own, at, other.leastCapacity[k]);
        own.maxInUse[at] = Math.max(own.maxInUse[at], other.maxInUse[k]);
        own.queuedInUse[at] = Math.max(own.queuedInUse[at], other.queuedInUse[k]);
        return at;
      });
    });
    return { queue, instances };
  }

  /** @returns the kind of the first queue of each name that spans themselves name: holds of their own only name it. */
  kinds(rankOf: (request: number) => number): Map<string, ResourceKind> {
    const known = new Map<string, ResourceKind>();
    const first = this.#met.map(({ queue }) => earliest(queue, rankOf));
    const order = sorted(first, rankOf).filter((id) => first[id].step === STEP.spans);
    for (const id of order) {
      const { name } = this.queues[id];
      if (!known.has(name)) known.set(name, first[id].kind);
    }
    return known;
  }

  /**
   * Numbers queues and instances anew, in the order in which one pass over all requests would have met them.
   *
   * @param rankOf where a request stands among all
   * @returns the new number of each queue, and of each of its instances
   */
  settle(rankOf: (request: number) => number): { queue: Int32Array; instances: Int32Array[] } {
    const first = this.#met.map(({ queue }) => earliest(queue, rankOf));
    const order = sorted(first, rankOf);
    const queue = inverse(order);
    const instances = this.#met.map((met) =>
      inverse(
        sorted(
          met.instances.map((own) => earliest(own, rankOf)),
          rankOf,
        ),
      ),
    );
    const settled = order.map((id, index): Queue => {
      const old = this.queues[id];
      const to = instances[id];
      const moved = <T>(values: readonly T[]): T[] => movedBy(to, values);
      return {
        ...old,
        index,
        kind: first[id].kind,
        // Of a shared queue, the service that used it first.
        service: old.scope === 'shared' ? first[id].service : old.service,
        instances: moved(old.instances),
        statedCapacity: moved(old.statedCapacity),
        leastCapacity: moved(old.leastCapacity),
        maxInUse: moved(old.maxInUse),
        queuedInUse: moved(old.queuedInUse),
      };
    });
    this.queues.splice(0, this.queues.length, ...settled);
    for (const [key, id] of this.#ids) this.#ids.set(key, queue[id]);
    const met = order.map((id) => ({
      queue: this.#met[id].queue,
      instances: movedBy(instances[id], this.#met[id].instances),
    }));
    this.#met.splice(0, this.#met.length, ...met);
    return { queue, instances };
  }

  /** The first time in each part is the earliest in it: parts go through their steps and requests in order. */
  #meet(met: Appearance[], kind: ResourceKind, service: string): void {
    const turn = this.#turn++;
    if (met.length > 0 && met[met.length - 1].part === this.#part) return;
    met.push({ part: this.#part, step: this.#step, request: this.#request, turn, kind, service });
  }
}

type RankOf = (request: number) => number;

function compare(a: Appearance, b: Appearance, rankOf: RankOf): number {
  return a.step - b.step || rankOf(a.request) - rankOf(b.request) || a.turn - b.turn;
}

function earliest(met: readonly Appearance[], rankOf: RankOf): Appearance {
  return met.reduce((a, b) => (compare(b, a, rankOf) < 0 ? b : a));
}

function sorted(first: readonly Appearance[], rankOf: RankOf): number[] {
  return first.map((_, id) => id).sort((a, b) => compare(first[a], first[b], rankOf));
}

function movedBy<T>(to: Int32Array, values: readonly T[]): T[] {
  const out = values.slice();
  for (let i = 0; i < values.length; i++) out[to[i]] = values[i];
  return out;
}

/** @returns where each entry went. */
function inverse(order: readonly number[]): Int32Array {
  const to = new Int32Array(order.length);
  for (let at = 0; at < order.length; at++) to[order[at]] = at;
  return to;
}

function noteStated({ statedCapacity, leastCapacity }: Queue, at: number, capacity: number | null): void {
  if (capacity === null) return;
  statedCapacity[at] = Math.max(statedCapacity[at] ?? 0, capacity);
  leastCapacity[at] = Math.min(leastCapacity[at] ?? Number.POSITIVE_INFINITY, capacity);
}

/** Remembers the largest and the least stated capacity of an instance, and the most servers seen busy: by whoever queued or was turned away, all of them. */
export function noteCapacity(
  queue: Queue,
  at: number,
  capacity: number | null,
  inUse: number | null,
  depth: number | null,
  rejected = false,
): void {
  if (capacity !== null && capacity > 0) noteStated(queue, at, capacity);
  if (inUse !== null) {
    queue.maxInUse[at] = Math.max(queue.maxInUse[at], inUse);
    if (rejected || (depth !== null && depth > 0))
      queue.queuedInUse[at] = Math.max(queue.queuedInUse[at], inUse);
  }
}
