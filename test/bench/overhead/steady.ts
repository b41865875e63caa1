/** Requests driven between two looks. */
export const CHUNK = 1_000;
/** A chunk this much cheaper than the cheapest before it says that the compiler is still at work. */
const CHEAPER = 0.97;
/** So many chunks without one that is cheaper, and it is done. */
const PATIENCE = 8;
/** Chunks before which nothing is believed: V8 compiles in bursts, the last of them after tens of thousands of calls. */
const LEAST = 24;
/** Of what the main thread takes, the collector of garbage takes no more than this on others; the compiler does. */
const QUIET = 0.1;

/**
 * Tells when a service has become as fast as it gets. Code that is not compiled yet, and its compilation on other
 * threads, cost as much as the request itself; a service that has more code is warm later. The cheapest chunk so far
 * counts: other load on the machine can only make one dearer.
 */
export class Steadiness {
  #cheapestUs = Number.POSITIVE_INFINITY;
  #since = 0;
  readonly #others: number[] = [];
  /** Requests that were needed. */
  requests = 0;

  get isReached(): boolean {
    if (this.#since < PATIENCE || this.#others.length < LEAST) return false;
    const last = this.#others.slice(-PATIENCE).sort((a, b) => a - b);
    return last[PATIENCE / 2] < QUIET;
  }

  /**
   * @param cpuUs CPU time of one request of the chunk, µs.
   * @param mainUs that of the main thread.
   */
  add(cpuUs: number, mainUs: number, requests: number): void {
    this.requests += requests;
    if (cpuUs < this.#cheapestUs * CHEAPER) this.#since = 0;
    else this.#since++;
    this.#cheapestUs = Math.min(this.#cheapestUs, cpuUs);
    this.#others.push((cpuUs - mainUs) / mainUs);
  }
}
