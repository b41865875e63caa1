import { type Linked, LinkedList } from '../core/linked-list.ts';

/** Bounds of an admission queue. */
export interface SlotLimits {
  /** Requests worked on at the same time. */
  maxConcurrent: number;
  /** Requests that may wait for a slot; 0: none waits. */
  maxQueue: number;
  /** Longest wait for a slot, ms; 0 or Infinity: no limit. */
  timeoutMs: number;
}

export interface SlotStats {
  /** Slots taken now. */
  active: number;
  /** Requests waiting now. */
  waiting: number;
  /** Requests that got a slot so far. */
  executed: number;
  /** Requests turned away because the queue was full. */
  rejected: number;
  /** Requests turned away because they had waited too long. */
  timedOut: number;
  /** Requests whose client left while they waited. */
  aborted: number;
}

/** One request at the slots. Exactly one of the callbacks runs, once, unless it leaves before. */
export interface SlotRequest {
  granted(): void;
  timedOut(): void;
}

interface Entry extends Linked<Entry> {
  readonly request: SlotRequest;
  state: 'waiting' | 'active' | 'done';
  timer: NodeJS.Timeout | undefined;
}

function entryOf(request: SlotRequest): Entry {
  return {
    request,
    state: 'waiting',
    timer: undefined,
    previous: undefined,
    next: undefined,
    isListed: false,
  };
}

/** What a request holds from the moment it entered; {@link leave} may be called any number of times. */
export interface SlotTicket {
  /** Whether the request still waits. */
  readonly waiting: boolean;
  /** Gives the slot back, or leaves the queue. The first call counts. */
  leave(): void;
}

/** A bounded number of slots with a bounded first-in-first-out queue before them. */
export class Slots {
  readonly limits: SlotLimits;
  readonly #queue = new LinkedList<Entry>();
  #active = 0;
  #executed = 0;
  #rejected = 0;
  #timedOut = 0;
  #aborted = 0;

  constructor(limits: SlotLimits) {
    if (!(limits.maxConcurrent >= 1)) {
      throw new RangeError(`admission: maxConcurrent must be at least 1, not ${limits.maxConcurrent}`);
    }
    if (!(limits.maxQueue >= 0)) {
      throw new RangeError(`admission: maxQueue must not be negative, but is ${limits.maxQueue}`);
    }
    this.limits = limits;
  }

  get active(): number {
    return this.#active;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** @returns a ticket, or undefined where the queue is full. `granted` runs within this call when a slot is free. */
  enter(request: SlotRequest): SlotTicket | undefined {
    if (this.#active < this.limits.maxConcurrent && this.#queue.size === 0) {
      const entry = entryOf(request);
      const ticket = this.#ticket(entry);
      this.#grant(entry);
      return ticket;
    }
    if (this.#queue.size >= this.limits.maxQueue) {
      this.#rejected++;
      return undefined;
    }
    const entry = entryOf(request);
    this.#queue.add(entry);
    const { timeoutMs } = this.limits;
    if (timeoutMs > 0 && timeoutMs !== Number.POSITIVE_INFINITY) {
      entry.timer = setTimeout(() => this.#expire(entry), timeoutMs);
    }
    return this.#ticket(entry);
  }

  /** Counts a request whose client had left before it could enter. */
  countAborted(): void {
    this.#aborted++;
  }

  stats(): SlotStats {
    return {
      active: this.#active,
      waiting: this.#queue.size,
      executed: this.#executed,
      rejected: this.#rejected,
      timedOut: this.#timedOut,
      aborted: this.#aborted,
    };
  }

  #ticket(entry: Entry): SlotTicket {
    return {
      get waiting() {
        return entry.state === 'waiting';
      },
      leave: () => this.#leave(entry),
    };
  }

  #grant(entry: Entry): void {
    clearTimeout(entry.timer);
    entry.state = 'active';
    this.#active++;
    this.#executed++;
    entry.request.granted();
  }

  #expire(entry: Entry): void {
    if (entry.state !== 'waiting') return;
    entry.state = 'done';
    this.#queue.delete(entry);
    this.#timedOut++;
    entry.request.timedOut();
  }

  #leave(entry: Entry): void {
    if (entry.state === 'done') return;
    if (entry.state === 'waiting') {
      entry.state = 'done';
      clearTimeout(entry.timer);
      this.#queue.delete(entry);
      this.#aborted++;
      return;
    }
    entry.state = 'done';
    this.#active--;
    while (this.#active < this.limits.maxConcurrent) {
      const next = this.#queue.first;
      if (next === undefined) return;
      this.#queue.delete(next);
      this.#grant(next);
    }
  }
}
