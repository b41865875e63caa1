/** A reading is replaced by a worse one after this long: clocks drift. */
const BEST_FOR_MS = 60_000;

/** Maps the server's clock to ours, by the shortest round trip so far: half of it is the largest error. */
export class ServerClock {
  #offsetMs = 0;
  #roundTripMs = Number.POSITIVE_INFINITY;
  #readMs = Number.NEGATIVE_INFINITY;

  observe(sentMs: number, repliedMs: number, serverMs: number): void {
    const roundTripMs = repliedMs - sentMs;
    if (roundTripMs > this.#roundTripMs && repliedMs - this.#readMs < BEST_FOR_MS) return;
    this.#roundTripMs = roundTripMs;
    this.#readMs = repliedMs;
    this.#offsetMs = (sentMs + repliedMs) / 2 - serverMs;
  }

  /** @returns a server's epoch ms as our monotonic ms. */
  toMonotonicMs(serverMs: number): number {
    return serverMs + this.#offsetMs;
  }
}
