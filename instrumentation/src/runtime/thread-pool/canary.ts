import * as crypto from 'node:crypto';
import { now } from '../../core/clock.ts';
import { loopClock } from '../../core/loop-clock.ts';

/** At most so often while calls wait for threads, … */
const BUSY_EVERY_MS = 5;
/** … and so often otherwise: work of native addons fills the pool without being seen. */
const QUIET_EVERY_MS = 100;
/** What the canary itself takes, ms; below it there was no queue. */
const OWN_MS = 0.15;

/** The function as it was before anything wrapped it. */
const randomFill = crypto.randomFill;

/** A call whose thread is looked for. */
export interface Waiter {
  readonly submittedMs: number;
  /** When its callback ran; undefined while it is with the pool. */
  endMs: number | undefined;
  /** Told once: a thread took it at about `beginMs`, no sooner than `leastMs`, no later than `mostMs`. */
  begun(beginMs: number, leastMs: number, mostMs: number): void;
}

/**
 * A job that takes next to no time, put behind the others now and then. The pool serves in order: what was
 * handed over between two of them was taken by a thread between those two.
 */
export class Canary {
  /** Whether calls that are counted keep all threads. */
  readonly #isFull: () => boolean;
  #batch: Waiter[] = [];
  #due = false;
  #sentMs = Number.NEGATIVE_INFINITY;
  #begunMs = Number.NEGATIVE_INFINITY;

  constructor(isFull: () => boolean) {
    this.#isFull = isFull;
  }

  /**
   * Takes a call just handed to the pool.
   *
   * @param busy more calls than threads are with the pool, as far as they are seen.
   * @returns false: there is no reason to believe that it waits, and none to look.
   */
  follow(waiter: Waiter, busy: boolean): boolean {
    const sinceMs = now() - this.#sentMs;
    if (!busy && !this.#due && sinceMs < QUIET_EVERY_MS) return false;
    this.#batch.push(waiter);
    if (this.#due) return true;
    this.#due = true;
    // Behind everything that is handed over in this turn of the event loop.
    if (sinceMs >= BUSY_EVERY_MS) setImmediate(() => this.#send());
    else setTimeout(() => this.#send(), BUSY_EVERY_MS - sinceMs).unref();
    return true;
  }

  #send(): void {
    const batch = this.#batch;
    const sentMs = now();
    this.#batch = [];
    this.#due = false;
    this.#sentMs = sentMs;
    const isFull = this.#isFull();
    randomFill(Buffer.allocUnsafe(1), () => {
      const atMs = now();
      const begunMs = atMs - loopClock.waitAt(atMs).minMs;
      const waited = begunMs - sentMs > OWN_MS;
      this.#place(batch, waited ? begunMs : sentMs, waited && !isFull);
    });
  }

  /** @param isStrange it waited although, by count, there was a thread: somebody keeps threads who is not counted. */
  #place(batch: readonly Waiter[], canaryMs: number, isStrange: boolean): void {
    const beforeMs = this.#begunMs;
    this.#begunMs = canaryMs;
    for (const [at, waiter] of batch.entries()) {
      const leastMs = Math.max(waiter.submittedMs, Math.min(beforeMs, canaryMs));
      const mostMs = Math.max(leastMs, Math.min(canaryMs, waiter.endMs ?? canaryMs));
      // Of those that waited for what is not counted, calls alike begin at even distances.
      const evenMs = leastMs + (at / batch.length) * (canaryMs - leastMs);
      waiter.begun(isStrange ? Math.min(evenMs, mostMs) : leastMs, leastMs, mostMs);
    }
  }
}
