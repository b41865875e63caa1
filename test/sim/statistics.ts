import type { QueueRef } from './scenario.ts';

/** What happened at one queue in requests that arrived in one step. */
export interface QueueStep {
  readonly visits: number;
  readonly waitNs: number;
  readonly holds: number;
  readonly holdNs: number;
  /** Rejections and timeouts. */
  readonly losses: number;
}

const FIELDS = 5;

/** Sums by queue and load step, kept by the simulation itself. */
export class QueueStats {
  readonly queues: readonly QueueRef[];
  readonly #steps: number;
  readonly #sums: Float64Array;
  readonly #busyNs: Float64Array;

  constructor(queues: readonly QueueRef[], steps: number) {
    this.queues = queues;
    this.#steps = steps;
    this.#sums = new Float64Array(queues.length * steps * FIELDS);
    this.#busyNs = new Float64Array(queues.length);
  }

  addWait(queue: number, step: number, ns: number): void {
    const i = (queue * this.#steps + step) * FIELDS;
    this.#sums[i]++;
    this.#sums[i + 1] += ns;
  }

  addHold(queue: number, step: number, ns: number): void {
    const i = (queue * this.#steps + step) * FIELDS;
    this.#sums[i + 2]++;
    this.#sums[i + 3] += ns;
  }

  addLoss(queue: number, step: number): void {
    this.#sums[(queue * this.#steps + step) * FIELDS + 4]++;
  }

  /** Occupation that belongs to no request: pauses. */
  addBusy(queue: number, ns: number): void {
    this.#busyNs[queue] += ns;
  }

  pausedNs(queue: number): number {
    return this.#busyNs[queue];
  }

  /** @returns the sums of one queue over the given steps, all by default. */
  of(resource: string, steps: readonly number[] = [...new Array(this.#steps).keys()]): QueueStep {
    const queue = this.queues.findIndex((q) => q.resource === resource);
    const total = [0, 0, 0, 0, 0];
    for (const step of steps) {
      const i = (queue * this.#steps + step) * FIELDS;
      for (let f = 0; f < FIELDS; f++) total[f] += this.#sums[i + f];
    }
    const [visits, waitNs, holds, holdNs, losses] = total;
    return { visits, waitNs, holds, holdNs, losses };
  }
}
