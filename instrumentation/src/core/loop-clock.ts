import { performance } from 'node:perf_hooks';
import { now } from './clock.ts';

const timing = performance.nodeTiming;

/** How long an event may have lain ready before its callback ran, ms. Good until the clock is read again. */
export interface LoopWait {
  minMs: number;
  maxMs: number;
  /** The loop slept until this very poll: then the event's arrival is known, and the wait is {@link maxMs}. */
  exact: boolean;
}

/** Idle time below this is the poll's own bookkeeping, not sleep. */
const MIN_SLEEP_MS = 0.02;
/** An exact wait this long may contain timers that ran between check and poll: reported as a bound only. */
const MAX_EXACT_MS = 1_000;

/**
 * Tells, inside an I/O callback, how long the event loop was busy with other callbacks since the event could
 * have been delivered. An unref'd immediate, re-armed in every check phase, notes where each iteration began;
 * the loop's own idle counter tells whether the poll since then slept. It neither wakes an idle loop nor
 * keeps the process alive. One reading costs under 0.1 µs.
 */
export class LoopClock {
  #running = false;
  #checkMs = now();
  #checkIdleMs = timing.idleTime;
  #previousPollMs = this.#checkMs;
  #iteration = 0;
  #entryIteration = -1;
  #entryMs = 0;
  /** One object for all readings: it is read in every callback. */
  readonly #reading: LoopWait = { minMs: 0, maxMs: 0, exact: false };

  start(): this {
    if (this.#running) return this;
    this.#running = true;
    this.#arm();
    return this;
  }

  stop(): void {
    this.#running = false;
  }

  /** Number of the current loop iteration: work is only provably one slice within one iteration. */
  get iteration(): number {
    return this.#iteration;
  }

  /** Notes that an I/O callback began: those after it in the same iteration were ready when it was. */
  noteEntry(atMs: number): void {
    if (this.#entryIteration === this.#iteration) return;
    this.#entryIteration = this.#iteration;
    this.#entryMs = atMs;
  }

  /**
   * @returns bounds of the wait of an event whose callback runs at `atMs`. The poll slept: everything since
   * it returned was other people's callbacks. It did not: the event came some time after the poll before.
   */
  waitAt(atMs: number): LoopWait {
    if (!this.#running) return this.#read(0, 0, false);
    const sleptMs = timing.idleTime - this.#checkIdleMs;
    if (sleptMs > MIN_SLEEP_MS) {
      const busyMs = Math.max(0, atMs - this.#checkMs - sleptMs);
      const exact = busyMs < MAX_EXACT_MS;
      return this.#read(exact ? busyMs : 0, busyMs, exact);
    }
    const maxMs = Math.max(0, atMs - this.#previousPollMs);
    const sinceEntryMs = this.#entryIteration === this.#iteration ? atMs - this.#entryMs : 0;
    return this.#read(Math.min(maxMs, Math.max(0, sinceEntryMs)), maxMs, false);
  }

  #read(minMs: number, maxMs: number, exact: boolean): LoopWait {
    const reading = this.#reading;
    reading.minMs = minMs;
    reading.maxMs = maxMs;
    reading.exact = exact;
    return reading;
  }

  #arm(): void {
    const tick = () => {
      if (!this.#running) return;
      this.#iteration++;
      const atMs = now();
      const idleMs = timing.idleTime;
      this.#previousPollMs = this.#checkMs + (idleMs - this.#checkIdleMs);
      this.#checkMs = atMs;
      this.#checkIdleMs = idleMs;
      setImmediate(tick).unref();
    };
    setImmediate(tick).unref();
  }
}

/** The process's clock; started by the first part that reads it. */
export const loopClock = new LoopClock();

/** @returns ms the event loop has slept since the process started. */
export function loopIdleMs(): number {
  return timing.idleTime;
}
