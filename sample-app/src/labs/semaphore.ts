/** Thrown to those who find the bulkhead full. */
export class BulkheadFullError extends Error {}

/** A bounded number of permits, with a bounded first-in-first-out queue before them. */
export class Semaphore {
  readonly permits: number;
  readonly #maxQueue: number;
  readonly #waiting: (() => void)[] = [];
  #inUse = 0;

  constructor(permits: number, maxQueue: number) {
    this.permits = permits;
    this.#maxQueue = maxQueue;
  }

  get inUse(): number {
    return this.#inUse;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Takes a permit, now or in its turn; throws {@link BulkheadFullError} where too many wait already. */
  acquire(): Promise<void> | undefined {
    if (this.#inUse < this.permits) {
      this.#inUse++;
      return undefined;
    }
    if (this.#waiting.length >= this.#maxQueue) throw new BulkheadFullError('bulkhead full');
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#inUse--;
  }
}
