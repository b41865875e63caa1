import type { EventQueue, Runnable } from './event-queue.ts';

/** Somebody in a queue for slots. */
export interface Waiter {
  readonly task: Runnable;
  readonly since: number;
  state: 'waiting' | 'granted' | 'timeout';
}

/** A fixed number of slots with a first-come-first-served queue: pools, admission, row locks. */
export class Slots {
  inUse = 0;
  readonly capacity: number;
  readonly #events: EventQueue;
  readonly #queue: Waiter[] = [];
  #head = 0;
  #waiting = 0;
  #changed = 0;
  /** Time integrals, ns: waiters and busy slots; gauges kept apart from what the spans say. */
  waitingIntegral = 0;
  busyIntegral = 0;

  constructor(events: EventQueue, capacity: number) {
    this.#events = events;
    this.capacity = capacity;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Takes a slot when one is free and nobody waits for it. */
  tryTake(): boolean {
    if (this.inUse >= this.capacity || this.#waiting > 0) return false;
    this.gauge();
    this.inUse++;
    return true;
  }

  /** Joins the queue; the task is run when the waiter's state has changed. */
  join(task: Runnable, timeoutNs: number | null): Waiter {
    this.gauge();
    const waiter: Waiter = { task, since: this.#events.now, state: 'waiting' };
    this.#queue.push(waiter);
    this.#waiting++;
    if (timeoutNs !== null) {
      this.#events.at(this.#events.now + timeoutNs, {
        run: () => {
          if (waiter.state !== 'waiting') return;
          this.gauge();
          waiter.state = 'timeout';
          this.#waiting--;
          task.run();
        },
      });
    }
    return waiter;
  }

  /** Gives a slot back: to the longest waiting, who is woken at this same time, or to nobody. */
  release(): void {
    this.gauge();
    while (this.#head < this.#queue.length) {
      const waiter = this.#queue[this.#head++];
      if (this.#head > 1024) {
        this.#queue.splice(0, this.#head);
        this.#head = 0;
      }
      if (waiter.state !== 'waiting') continue;
      waiter.state = 'granted';
      this.#waiting--;
      this.#events.at(this.#events.now, waiter.task);
      return;
    }
    this.inUse--;
  }

  /** Brings the time integrals up to now. */
  gauge(): void {
    const dt = this.#events.now - this.#changed;
    this.#changed = this.#events.now;
    this.waitingIntegral += dt * this.#waiting;
    this.busyIntegral += dt * this.inUse;
  }
}

/**
 * c servers with one first-come-first-served queue whose service times are known on arrival: the end of each job is
 * known at once, no event needed. The event loop (c = 1), remote servers and handshakes are such stations.
 */
export class Servers {
  readonly #free: number[];
  /** Service handed out so far, ns. */
  busyNs = 0;

  constructor(capacity: number) {
    this.#free = new Array(capacity).fill(0);
  }

  /** @returns when the job that arrives now starts; it occupies one server from then on for `costNs`. */
  enter(now: number, costNs: number): number {
    const free = this.#free;
    let best = 0;
    for (let i = 1; i < free.length; i++) if (free[i] < free[best]) best = i;
    const start = Math.max(free[best], now);
    free[best] = start + costNs;
    this.busyNs += costNs;
    return start;
  }

  /** @returns servers busy now. */
  busy(now: number): number {
    let n = 0;
    for (const time of this.#free) if (time > now) n++;
    return n;
  }
}
