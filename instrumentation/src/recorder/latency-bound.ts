/** How far a percentile looks back. */
const WINDOW_SECONDS = 10;
/** With fewer requests a percentile says nothing. */
const MIN_REQUESTS = 100;

/** Tells when more than 1 % of the requests of the last seconds took longer than a bound. */
export class LatencyBound {
  readonly #boundMs: number;
  readonly #seconds = Array.from({ length: WINDOW_SECONDS }, () => ({ second: -1, total: 0, over: 0 }));

  /** @param boundMs what the 99th percentile must not exceed. */
  constructor(boundMs: number) {
    this.#boundMs = boundMs;
  }

  /** Counts one request that ended at `atMs`. @returns whether the bound is broken now. */
  add(durationMs: number, atMs: number): boolean {
    const second = Math.floor(atMs / 1e3);
    const slot = this.#seconds[second % WINDOW_SECONDS];
    if (slot.second !== second) Object.assign(slot, { second, total: 0, over: 0 });
    slot.total++;
    if (durationMs <= this.#boundMs) return false;
    slot.over++;
    let total = 0;
    let over = 0;
    for (const one of this.#seconds) {
      if (one.second <= second - WINDOW_SECONDS) continue;
      total += one.total;
      over += one.over;
    }
    return total >= MIN_REQUESTS && over > total / 100;
  }
}
