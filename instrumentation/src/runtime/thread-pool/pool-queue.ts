/** One call, from when it was handed to the pool to its callback. Times in monotonic ms. */
export interface Job {
  readonly startMs: number;
  /** Name lookups are slow work: libuv lets it use half of its threads. */
  readonly slow: boolean;
  /** When a thread was free for it; undefined while it waits. */
  begunMs: number | undefined;
  /** Threads it could have had that were busy when it came, and calls before it. */
  readonly inUse: number;
  readonly queueDepth: number;
}

/**
 * The pool as libuv runs it: work is served in order by so many threads, slow work by half of them. With all calls
 * counted, the end of one is the beginning of the next that waits. https://docs.libuv.org/en/v1.x/threadpool.html
 */
export class PoolQueue {
  readonly threads: number;
  /** Threads that slow work may use. */
  readonly slowThreads: number;
  /** In the order they came. */
  readonly #waiting: Job[] = [];
  #slowWaiting = 0;
  #running = 0;
  #slowRunning = 0;
  /** When a call ended last: a thread was free then. */
  #lastEndMs = Number.NEGATIVE_INFINITY;

  constructor(threads: number) {
    this.threads = threads;
    this.slowThreads = Math.max(1, Math.floor((threads + 1) / 2));
  }

  /** Whether what comes now waits. */
  get isFull(): boolean {
    return this.#running >= this.threads;
  }

  /** A call is handed to the pool. */
  begin(atMs: number, slow: boolean): Job {
    const job: Job = {
      startMs: atMs,
      slow,
      begunMs: undefined,
      inUse: slow ? this.#slowRunning : this.#running,
      queueDepth: slow ? this.#slowWaiting : this.#waiting.length,
    };
    if (this.#hasThreadFor(job)) this.#start(job, atMs);
    else {
      this.#waiting.push(job);
      if (slow) this.#slowWaiting++;
    }
    return job;
  }

  /** Its work has ended. */
  end(job: Job, atMs: number): void {
    const freeMs = this.#lastEndMs;
    this.#lastEndMs = Math.max(freeMs, atMs);
    if (job.begunMs === undefined) {
      // By count it was still waiting. A call of several steps is counted as one, so that its thread may be another's
      // meanwhile; and callbacks come in an order of their own. It began when a thread was last known to be free, or at once.
      const at = this.#waiting.indexOf(job);
      if (at >= 0) this.#take(at);
      job.begunMs = Math.min(atMs, Math.max(job.startMs, freeMs));
      return;
    }
    this.#running--;
    if (job.slow) this.#slowRunning--;
    for (let at = 0; at < this.#waiting.length && this.#running < this.threads; ) {
      if (this.#hasThreadFor(this.#waiting[at])) this.#start(this.#take(at), atMs);
      else at++;
    }
  }

  #hasThreadFor({ slow }: Job): boolean {
    return this.#running < this.threads && (!slow || this.#slowRunning < this.slowThreads);
  }

  #start(job: Job, atMs: number): void {
    job.begunMs = atMs;
    this.#running++;
    if (job.slow) this.#slowRunning++;
  }

  #take(at: number): Job {
    const [job] = this.#waiting.splice(at, 1);
    if (job.slow) this.#slowWaiting--;
    return job;
  }
}
