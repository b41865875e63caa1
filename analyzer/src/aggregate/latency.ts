import { selectRank, sortByKey } from '../model/ordering.ts';
import { ExactSum, roundedMean } from './exact-sum.ts';
import type { Latency } from './types.ts';

/**
 * Rank of a percentile by the nearest-rank rule: ceil(p × n / 100), 1-based.
 *
 * The percentile is given in thousandths of a percent, an integer, and multiplied before the division:
 * 0.07 × 100 in doubles is 7.000000000000001 and would name the eighth of 100 values.
 */
export function nearestRank(milliPercent: number, n: number): number {
  return Math.max(1, Math.ceil((milliPercent * n) / 100_000));
}

/** @returns the value at a percentile (in thousandths of a percent) of ascending values; null when there are none. */
export function percentile(ascending: ArrayLike<number>, milliPercent: number): number | null {
  const n = ascending.length;
  return n === 0 ? null : ascending[nearestRank(milliPercent, n) - 1];
}

/** Values that may stand for different numbers of requests. */
export class WeightedValues {
  readonly units: number;
  /** Ascending where they weigh differently, else in any order. */
  readonly #values: Float64Array;
  /** How much each value counts where all count the same. */
  readonly #unit: number;
  /** Units up to and including each value; null where all count the same. */
  readonly #upTo: Float64Array | null;

  /** @param units how much each value counts, whole numbers; null: 1 each. */
  constructor(values: ArrayLike<number>, units: ArrayLike<number> | null) {
    const n = values.length;
    this.#unit = units === null || n === 0 ? 1 : units[0];
    let isEven = true;
    for (let i = 1; units !== null && i < n && isEven; i++) isEven = units[i] === this.#unit;
    if (isEven) {
      this.#values = new Float64Array(values);
      this.#upTo = null;
      this.units = n * this.#unit;
      return;
    }
    const own = new Float64Array(values);
    const order = new Int32Array(n);
    for (let i = 0; i < n; i++) order[i] = i;
    sortByKey(order, own);
    this.#values = new Float64Array(n);
    this.#upTo = new Float64Array(n);
    let sum = 0;
    for (let i = 0; i < n; i++) {
      this.#values[i] = own[order[i]];
      sum += (units as ArrayLike<number>)[order[i]];
      this.#upTo[i] = sum;
    }
    this.units = sum;
  }

  /** As {@link percentile}, each value repeated as often as it counts, after `zeros` units of 0; null without any. */
  percentile(milliPercent: number, zeros = 0): number | null {
    const total = zeros + this.units;
    if (total === 0) return null;
    const rank = nearestRank(milliPercent, total) - zeros;
    if (rank <= 0) return 0;
    if (this.#upTo === null) return selectRank(this.#values, Math.ceil(rank / this.#unit) - 1);
    let low = 0;
    let high = this.#values.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#upTo[middle] >= rank) high = middle;
      else low = middle + 1;
    }
    return this.#values[low];
  }
}

/**
 * As {@link latencyOf} where each duration counts as often as its `units` say. `n` stays the number of durations
 * seen: how certain a percentile is depends on those.
 */
export function weightedLatencyOf(durationsNs: ArrayLike<number>, units: ArrayLike<number>): Latency {
  const n = durationsNs.length;
  if (n === 0) return EMPTY_LATENCY;
  const values = new WeightedValues(durationsNs, units);
  const sum = new ExactSum();
  let max = 0;
  for (let i = 0; i < n; i++) {
    sum.addTimes(durationsNs[i], units[i]);
    max = Math.max(max, durationsNs[i]);
  }
  return {
    n,
    p50: values.percentile(50_000),
    p90: values.percentile(90_000),
    p95: values.percentile(95_000),
    p99: values.percentile(99_000),
    p999: values.percentile(99_900),
    max,
    mean: roundedMean(sum.total, values.units),
  };
}

/** Percentiles of durations in ns, which it sorts in place; the mean is rounded to a whole ns. */
export function latencyOf(durationsNs: Float64Array): Latency {
  const n = durationsNs.length;
  if (n === 0) return EMPTY_LATENCY;
  durationsNs.sort();
  const sum = new ExactSum();
  for (let i = 0; i < n; i++) sum.add(durationsNs[i]);
  return {
    n,
    p50: percentile(durationsNs, 50_000),
    p90: percentile(durationsNs, 90_000),
    p95: percentile(durationsNs, 95_000),
    p99: percentile(durationsNs, 99_000),
    p999: percentile(durationsNs, 99_900),
    max: durationsNs[n - 1],
    mean: roundedMean(sum.total, n),
  };
}

export const EMPTY_LATENCY: Latency = {
  n: 0,
  p50: null,
  p90: null,
  p95: null,
  p99: null,
  p999: null,
  max: null,
  mean: null,
};

export interface RankInterval {
  /** 1-based rank of the lower bound; 0 when the interval reaches below the minimum. */
  readonly low: number;
  /** 1-based rank of the upper bound; null when n values are too few to bound the percentile from above. */
  readonly high: number | null;
}

/**
 * Ranks between which the true percentile lies with at least 95 % confidence, whatever the distribution.
 *
 * The number of values below the true percentile is binomial(n, p): the bounds are its 2.5 % and 97.5 % points
 * (David & Nagaraja, Order Statistics, §7.1). With 250 values nothing bounds a p99 from above: 0.99^250 = 8 % of
 * such samples lie wholly below it.
 */
export function rankInterval(milliPercent: number, n: number): RankInterval {
  const p = milliPercent / 100_000;
  if (n > EXACT_BINOMIAL_LIMIT) {
    const spread = 1.959964 * Math.sqrt(n * p * (1 - p));
    const high = Math.ceil(n * p + spread) + 1;
    return { low: Math.max(0, Math.floor(n * p - spread)), high: high > n ? null : high };
  }
  let low = 0;
  let high: number | null = null;
  let cumulative = 0;
  for (let k = 0; k < n; k++) {
    cumulative += Math.exp(logChoose(n, k) + k * Math.log(p) + (n - k) * Math.log1p(-p));
    if (cumulative <= 0.025) low = k + 1;
    if (cumulative >= 0.975) {
      high = k + 1;
      break;
    }
  }
  return { low, high };
}

const EXACT_BINOMIAL_LIMIT = 5_000;

function logChoose(n: number, k: number): number {
  return logFactorial(n) - logFactorial(k) - logFactorial(n - k);
}

const logFactorials = [0];
function logFactorial(n: number): number {
  for (let i = logFactorials.length; i <= n; i++) logFactorials[i] = logFactorials[i - 1] + Math.log(i);
  return logFactorials[n];
}
