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

/** A measurement that calls wait for. */
export interface Measurement {
  /** Wait of the canary, ms; undefined while it is under way. */
  waitMs: number | undefined;
  readonly waiting: (() => void)[];
}

/**
 * A job that takes next to no time, put behind the others now and then: what it waits, they wait. The pool
 * serves in order, so whatever was in front of it has been taken by a thread when it has.
 */
export class Canary {
  #current: Measurement | undefined;
  #last: Measurement = { waitMs: 0, waiting: [] };
  #lastMs = Number.NEGATIVE_INFINITY;

  /** @returns the measurement that fits a call just handed to the pool, best one at hand. */
  measure(busy: boolean): Measurement {
    if (this.#current !== undefined) return this.#current;
    const atMs = now();
    if (atMs - this.#lastMs < (busy ? BUSY_EVERY_MS : QUIET_EVERY_MS)) {
      return busy ? this.#last : { waitMs: 0, waiting: [] };
    }
    this.#lastMs = atMs;
    const measurement: Measurement = { waitMs: undefined, waiting: [] };
    this.#current = measurement;
    randomFill(Buffer.allocUnsafe(1), () => {
      const endMs = now();
      const loopMs = loopClock.waitAt(endMs).minMs;
      const waitMs = endMs - atMs - loopMs;
      measurement.waitMs = waitMs <= OWN_MS ? 0 : waitMs;
      this.#current = undefined;
      this.#last = measurement;
      for (const run of measurement.waiting) run();
      measurement.waiting.length = 0;
    });
    return measurement;
  }
}
