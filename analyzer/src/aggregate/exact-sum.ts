/** Sums integers exactly: a double up to 2^53, a bigint above it. */
export class ExactSum {
  #low = 0;
  #high = 0n;

  /** Adds a non-negative integer below 2^53. */
  add(value: number): void {
    // Rounding is monotone, so an inexact sum can only be at or above the limit, never slip below it.
    const next = this.#low + value;
    if (next <= Number.MAX_SAFE_INTEGER) {
      this.#low = next;
      return;
    }
    this.#high += BigInt(this.#low);
    this.#low = value;
  }

  /** Adds a value that counts several times; both are non-negative integers below 2^53. */
  addTimes(value: number, times: number): void {
    const product = value * times;
    if (product <= Number.MAX_SAFE_INTEGER) this.add(product);
    else this.#high += BigInt(value) * BigInt(times);
  }

  get total(): bigint {
    return this.#high + BigInt(this.#low);
  }
}

/** @returns a / b of two bigints as a double; 0 where b is 0. */
export function ratio(a: bigint, b: bigint): number {
  if (b === 0n) return 0;
  if (a <= MAX_SAFE && b <= MAX_SAFE) return Number(a) / Number(b);
  return Number((a * SCALE) / b) / Number(SCALE);
}

/** @returns total / count rounded to the nearest integer, halves up. */
export function roundedMean(total: bigint, count: number): number {
  const n = BigInt(count);
  return Number((2n * total + n) / (2n * n));
}

/**
 * Means of parts as integers that add up to the rounded mean of the whole: every part is rounded down, and the
 * missing units go to the largest remainders (the earlier part on ties).
 */
export function apportionedMeans(totals: readonly bigint[], count: number): number[] {
  if (count === 0) return totals.map(() => 0);
  const n = BigInt(count);
  const means = totals.map((total) => total / n);
  const whole = BigInt(
    roundedMean(
      totals.reduce((a, b) => a + b, 0n),
      count,
    ),
  );
  let missing = Number(whole - means.reduce((a, b) => a + b, 0n));
  const byRemainder = totals
    .map((total, i) => ({ i, remainder: total % n }))
    .sort((a, b) => (a.remainder === b.remainder ? a.i - b.i : a.remainder > b.remainder ? -1 : 1));
  for (const { i } of byRemainder) {
    if (missing-- <= 0) break;
    means[i] += 1n;
  }
  return means.map(Number);
}

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const SCALE = 1_000_000_000_000_000n;
