/** Requests driven between two looks. */
export const CHUNK = 1_000;
/** A chunk this much cheaper than the cheapest before it says that the compiler is still at work. */
const CHEAPER = 0.97;
/** So many chunks without one that is cheaper, and it is done. */
const PATIENCE = 6;

/**
 * Tells when a service has become as fast as it gets. Code that is not compiled yet, and its compilation on other
 * threads, cost as much as the request itself; a service that has more code is warm later. The cheapest chunk so far
 * counts: other load on the machine can only make one dearer.
 */
export class Steadiness {
  #cheapestUs = Number.POSITIVE_INFINITY;
  #since = 0;
  /** Requests that were needed. */
  requests = 0;

  get isReached(): boolean {
    return this.#since >= PATIENCE;
  }

  /** @param cpuUs CPU time of one request of the chunk, µs. */
  add(cpuUs: number, requests: number): void {
    this.requests += requests;
    if (cpuUs < this.#cheapestUs * CHEAPER) this.#since = 0;
    else this.#since++;
    this.#cheapestUs = Math.min(this.#cheapestUs, cpuUs);
  }
}
