import { sortByKey } from '../model/ordering.ts';
import type { Requests } from './requests-types.ts';

/** Requests (weighted) that have started and not ended, at any time: started before it minus ended before it. */
export class InFlight {
  readonly #starts: Steps;
  readonly #ends: Steps;

  constructor({ count, startNs, durationNs, weight }: Requests) {
    const all = Int32Array.from({ length: count }, (_, i) => i);
    const end = (i: number) => startNs[i] + durationNs[i];
    const ends = Float64Array.from(all, end);
    const byEnd = all.slice();
    sortByKey(byEnd, ends);
    this.#starts = stepsOf(all, (i) => startNs[i], weight);
    this.#ends = stepsOf(byEnd, end, weight);
  }

  /** @param timeNs relative to the origin of the requests */
  at(timeNs: number): number {
    return sumBefore(this.#starts, timeNs) - sumBefore(this.#ends, timeNs);
  }
}

interface Steps {
  readonly timeNs: Float64Array;
  /** Sum of the weights of the first i entries. */
  readonly sum: Float64Array;
}

function stepsOf(order: Int32Array, time: (i: number) => number, weight: Float64Array): Steps {
  const timeNs = new Float64Array(order.length);
  const sum = new Float64Array(order.length + 1);
  for (let at = 0; at < order.length; at++) {
    timeNs[at] = time(order[at]);
    sum[at + 1] = sum[at] + weight[order[at]];
  }
  return { timeNs, sum };
}

function sumBefore({ timeNs, sum }: Steps, limit: number): number {
  let low = 0;
  let high = timeNs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeNs[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return sum[low];
}
