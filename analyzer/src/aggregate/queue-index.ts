import type { ResourceKind } from '../classify/types.ts';
import type { Queue } from './activity.ts';

const SHARED_KINDS = new Set<ResourceKind>(['lock', 'downstream']);

function keyOf(kind: ResourceKind, name: string, service: string): string {
  if (kind === 'lock' || kind === 'downstream') return `${kind}\0${name}`;
  return `${service}\0${name}`;
}

/** Finds or adds the queue of a name. */
export class QueueIndex {
  readonly queues: Queue[] = [];
  readonly #ids = new Map<string, number>();

  of(kind: ResourceKind, name: string, service: string): Queue {
    const key = keyOf(kind, name, service);
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.queues.length;
      this.#ids.set(key, id);
      this.queues.push({
        index: id,
        name,
        kind,
        scope: SHARED_KINDS.has(kind) ? 'shared' : 'process',
        service,
        instances: [],
        statedCapacity: [],
        maxInUse: [],
        queuedInUse: [],
        holdsRebuilt: false,
      });
    }
    return this.queues[id];
  }

  /** Index of a queue already known, -1 else. */
  find(kind: ResourceKind, name: string, service: string): number {
    return this.#ids.get(keyOf(kind, name, service)) ?? -1;
  }

  instance(queue: Queue, name: string): number {
    const own = queue.scope === 'shared' ? '' : name;
    let at = queue.instances.indexOf(own);
    if (at < 0) {
      at = queue.instances.push(own) - 1;
      queue.statedCapacity.push(null);
      queue.maxInUse.push(0);
      queue.queuedInUse.push(0);
    }
    return at;
  }
}

/** Remembers the largest stated capacity of an instance, and the most servers seen busy. */
export function noteCapacity(
  queue: Queue,
  at: number,
  capacity: number | null,
  inUse: number | null,
  depth: number | null,
): void {
  if (capacity !== null && capacity > 0) {
    queue.statedCapacity[at] = Math.max(queue.statedCapacity[at] ?? 0, capacity);
  }
  if (inUse !== null) {
    queue.maxInUse[at] = Math.max(queue.maxInUse[at], inUse);
    if (depth !== null && depth > 0) queue.queuedInUse[at] = Math.max(queue.queuedInUse[at], inUse);
  }
}
