import { now } from '../../core/clock.ts';

/** One name lookup, from its call to its callback. */
export interface Lookup {
  readonly startMs: number;
  /** When a thread took it; undefined while it waits. */
  begunMs: number | undefined;
  readonly inUse: number;
  readonly queueDepth: number;
}

/**
 * libuv lets slow work, which is name lookups, use half of its threads, and serves it in order: with all of
 * them counted, the end of one is the beginning of the next that waits.
 */
export class LookupQueue {
  readonly capacity: number;
  readonly #waiting: Lookup[] = [];
  #running = 0;

  /** @param threads size of the pool. https://docs.libuv.org/en/v1.x/threadpool.html */
  constructor(threads: number) {
    this.capacity = Math.max(1, Math.floor((threads + 1) / 2));
  }

  begin(atMs: number = now()): Lookup {
    const free = this.#running < this.capacity;
    const lookup: Lookup = {
      startMs: atMs,
      begunMs: free ? atMs : undefined,
      inUse: this.#running,
      queueDepth: this.#waiting.length,
    };
    if (free) this.#running++;
    else this.#waiting.push(lookup);
    return lookup;
  }

  end(lookup: Lookup, atMs: number = now()): void {
    if (lookup.begunMs === undefined) {
      // It overtook one that has ended, whose callback has not run yet.
      const at = this.#waiting.indexOf(lookup);
      if (at >= 0) this.#waiting.splice(at, 1);
      lookup.begunMs = atMs;
      return;
    }
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next.begunMs = atMs;
  }
}
