import type { Requests } from './requests-types.ts';

/** Weights are kept to this many parts of a request, so that weighted sums stay exact integers. */
const PARTS = 1000;

/**
 * For how many requests each request of a set stands, as whole multiples of `1 / unit` of a request.
 *
 * Without sampling `unit` is 1 and every request counts 1: the weighted numbers are then the plain ones.
 */
export interface Counting {
  readonly unit: number;
  /** @returns units of a request, by its index into the requests. */
  of(request: number): number;
}

const ONE_EACH: Counting = { unit: 1, of: () => 1 };

/** @returns the counting of a set of requests (indices into `requests`). */
export function countingOf(requests: Requests, members: ArrayLike<number>): Counting {
  const { weight } = requests;
  for (let i = 0; i < members.length; i++) {
    if (weight[members[i]] !== 1) return { unit: PARTS, of: (request) => unitsOf(weight[request]) };
  }
  return ONE_EACH;
}

/** @returns a weight as a whole number of units. */
export function unitsOf(weight: number): number {
  return Math.round(weight * PARTS);
}
