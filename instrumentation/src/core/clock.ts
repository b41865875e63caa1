import type { HrTime } from '@opentelemetry/api';

/**
 * One reading of wall clock against monotonic clock. Everything of one request is converted with the same
 * anchor, so that a step of the wall clock never tears a child off its parent.
 */
export class ClockAnchor {
  readonly #seconds: number;
  readonly #nanos: number;
  /** Wall clock in ms at monotonic zero. */
  readonly epochMs: number;
  /** The same in ns, as two unsigned words of 32 bits: what binary encodings add to. */
  readonly highWord: number;
  readonly lowWord: number;

  constructor(epochMs: number) {
    this.epochMs = epochMs;
    this.#seconds = Math.floor(epochMs / 1e3);
    this.#nanos = Math.round((epochMs - this.#seconds * 1e3) * 1e6);
    const epochNs = BigInt(this.#seconds) * 1_000_000_000n + BigInt(this.#nanos);
    this.highWord = Number(epochNs >> 32n);
    this.lowWord = Number(epochNs & 0xffff_ffffn);
  }

  /** @returns epoch seconds and nanoseconds of a `performance.now()` reading. */
  toHrTime(monotonicMs: number): HrTime {
    const nanos = this.#nanos + Math.round(monotonicMs * 1e6);
    const carry = Math.floor(nanos / 1e9) | 0;
    // As integers: a pair of doubles would make every time that the SDK derives from it one, and all its code slower.
    return [this.#seconds + carry, (nanos - carry * 1e9) | 0];
  }

  /** @returns epoch ns, as text, of a `performance.now()` reading. */
  toUnixNano(monotonicMs: number): string {
    const [seconds, nanos] = this.toHrTime(monotonicMs);
    return `${seconds}${String(nanos).padStart(9, '0')}`;
  }
}

/** Two readings this far apart have nothing in between that took the core away. */
const EDGE_MS = 0.02;
const LONGEST_SEARCH_MS = 5;

/** The wall clock may be off by this much before a new anchor is taken. */
const MAX_DRIFT_MS = 5;
const CHECK_EVERY_MS = 1_000;

let anchor = takeAnchor();
let lastCheckMs = performance.now();

/**
 * Waits for a tick of the millisecond clock: at that edge it is exact to the time between two readings. A tick that was
 * missed, because the process got no core meanwhile, is waited for again.
 */
function takeAnchor(): ClockAnchor {
  let lastWallMs = Date.now();
  let beforeMs = performance.now();
  let epochMs = lastWallMs - beforeMs;
  let leastGapMs = Number.POSITIVE_INFINITY;
  const giveUpMs = beforeMs + LONGEST_SEARCH_MS;
  while (leastGapMs > EDGE_MS && beforeMs < giveUpMs) {
    const wallMs = Date.now();
    const afterMs = performance.now();
    const gapMs = afterMs - beforeMs;
    if (wallMs !== lastWallMs && gapMs < leastGapMs) {
      leastGapMs = gapMs;
      epochMs = wallMs - afterMs;
    }
    lastWallMs = wallMs;
    beforeMs = afterMs;
  }
  return new ClockAnchor(epochMs);
}

/**
 * @returns the anchor for a request that begins now; a new one when the wall clock was stepped or has
 * drifted by more than {@link MAX_DRIFT_MS} since the last.
 */
export function currentAnchor(monotonicMs: number = performance.now()): ClockAnchor {
  if (monotonicMs - lastCheckMs > CHECK_EVERY_MS) {
    lastCheckMs = monotonicMs;
    // Half a millisecond: Date.now() is floored, so it reads that much early on average.
    const driftMs = Date.now() + 0.5 - (anchor.epochMs + monotonicMs);
    if (Math.abs(driftMs) > MAX_DRIFT_MS) anchor = new ClockAnchor(anchor.epochMs + driftMs);
  }
  return anchor;
}

/** @returns the monotonic reading, in ms, that everything in this package is recorded with. */
export const now: () => number = performance.now.bind(performance);

/** @returns the length of a monotonic interval as integer ns, never negative. */
export function durationNs(startMs: number, endMs: number): number {
  return Math.max(0, Math.round(endMs * 1e6) - Math.round(startMs * 1e6));
}
