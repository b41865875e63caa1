import type { ExponentialHistogramPoint, HistogramPoint } from '../model/input.ts';

/** Counts of values by range, of an OTLP explicit or exponential histogram. */
export type Buckets = ExplicitBuckets | ExponentialBuckets;

interface Common {
  readonly count: bigint;
  /** null as soon as one part has none. */
  readonly sum: number | null;
  /** Bounds of all values; null as soon as one part has none, and after a subtraction. */
  readonly min: number | null;
  readonly max: number | null;
}

export interface ExplicitBuckets extends Common {
  readonly kind: 'explicit';
  /** Ascending upper bounds, inclusive; `counts` has one more entry, for what is above the last. */
  readonly bounds: readonly number[];
  readonly counts: readonly bigint[];
}

export interface ExponentialBuckets extends Common {
  readonly kind: 'exponential';
  /** Bucket i holds (base^i, base^(i+1)] with base = 2^(2^-scale). */
  readonly scale: number;
  readonly zeroCount: bigint;
  readonly positive: ReadonlyMap<number, bigint>;
  /** By magnitude. */
  readonly negative: ReadonlyMap<number, bigint>;
}

export function explicitBuckets(point: HistogramPoint): ExplicitBuckets {
  const { count, sum, min, max, bounds, bucketCounts } = point;
  // Without bounds a histogram is its count and sum alone: one bucket for everything.
  const counts = bucketCounts.length === bounds.length + 1 ? bucketCounts : [count];
  return { kind: 'explicit', count, sum, min, max, bounds: counts === bucketCounts ? bounds : [], counts };
}

export function exponentialBuckets(point: ExponentialHistogramPoint): ExponentialBuckets {
  const { count, sum, min, max, scale, zeroCount } = point;
  const positive = mapOf(point.positive);
  return {
    kind: 'exponential',
    count,
    sum,
    min,
    max,
    scale,
    zeroCount,
    positive,
    negative: mapOf(point.negative),
  };
}

function mapOf({ offset, counts }: ExponentialHistogramPoint['positive']): Map<number, bigint> {
  const map = new Map<number, bigint>();
  counts.forEach((count, i) => {
    if (count !== 0n) map.set(offset + i, count);
  });
  return map;
}

/** @returns the sum, or why these two cannot be added. */
export function plus(a: Buckets, b: Buckets): Buckets | string {
  const common = {
    count: a.count + b.count,
    sum: a.sum === null || b.sum === null ? null : a.sum + b.sum,
    min: a.min === null || b.min === null ? null : Math.min(a.min, b.min),
    max: a.max === null || b.max === null ? null : Math.max(a.max, b.max),
  };
  if (a.kind === 'explicit' && b.kind === 'explicit') {
    if (!sameBounds(a, b)) return boundsDiffer(a, b);
    return {
      ...common,
      kind: 'explicit',
      bounds: a.bounds,
      counts: a.counts.map((count, i) => count + b.counts[i]),
    };
  }
  if (a.kind === 'exponential' && b.kind === 'exponential') {
    const scale = Math.min(a.scale, b.scale);
    const [x, y] = [rescaled(a, scale), rescaled(b, scale)];
    return {
      ...common,
      kind: 'exponential',
      scale,
      zeroCount: x.zeroCount + y.zeroCount,
      positive: added(x.positive, y.positive),
      negative: added(x.negative, y.negative),
    };
  }
  return KINDS_DIFFER;
}

/** @returns a later state minus an earlier one, null when a count fell (a restart), or why it cannot be told. */
export function minus(later: Buckets, earlier: Buckets): Buckets | null | string {
  if (later.count < earlier.count) return null;
  const common = {
    count: later.count - earlier.count,
    sum: later.sum === null || earlier.sum === null ? null : later.sum - earlier.sum,
    min: null,
    max: null,
  };
  if (later.kind === 'explicit' && earlier.kind === 'explicit') {
    if (!sameBounds(later, earlier)) return boundsDiffer(later, earlier);
    const counts = later.counts.map((count, i) => count - earlier.counts[i]);
    return counts.some((count) => count < 0n)
      ? null
      : { ...common, kind: 'explicit', bounds: later.bounds, counts };
  }
  if (later.kind === 'exponential' && earlier.kind === 'exponential') {
    const scale = Math.min(later.scale, earlier.scale);
    const [x, y] = [rescaled(later, scale), rescaled(earlier, scale)];
    const positive = added(x.positive, y.positive, -1n);
    const negative = added(x.negative, y.negative, -1n);
    const zeroCount = x.zeroCount - y.zeroCount;
    const fell = [zeroCount, ...positive.values(), ...negative.values()].some((count) => count < 0n);
    return fell ? null : { ...common, kind: 'exponential', scale, zeroCount, positive, negative };
  }
  return KINDS_DIFFER;
}

const KINDS_DIFFER = 'explicit and exponential histograms cannot be added up';

function sameBounds(a: ExplicitBuckets, b: ExplicitBuckets): boolean {
  return a.bounds.length === b.bounds.length && a.bounds.every((bound, i) => bound === b.bounds[i]);
}

function boundsDiffer(a: ExplicitBuckets, b: ExplicitBuckets): string {
  return `bucket bounds differ: [${a.bounds.join(', ')}] and [${b.bounds.join(', ')}]`;
}

/** Halving the resolution joins buckets 2i and 2i + 1 into i; it is exact. */
function rescaled(buckets: ExponentialBuckets, scale: number): ExponentialBuckets {
  const factor = 2 ** (buckets.scale - scale);
  if (factor === 1) return buckets;
  const joined = (side: ReadonlyMap<number, bigint>) => {
    const map = new Map<number, bigint>();
    for (const [i, count] of side) {
      const target = Math.floor(i / factor);
      map.set(target, (map.get(target) ?? 0n) + count);
    }
    return map;
  };
  return { ...buckets, scale, positive: joined(buckets.positive), negative: joined(buckets.negative) };
}

function added(
  a: ReadonlyMap<number, bigint>,
  b: ReadonlyMap<number, bigint>,
  sign = 1n,
): Map<number, bigint> {
  const map = new Map(a);
  for (const [i, count] of b) map.set(i, (map.get(i) ?? 0n) + sign * count);
  for (const [i, count] of map) if (count === 0n) map.delete(i);
  return map;
}

/** Where a quantile lies. A bound that is not known is null: above the last bucket there is no upper one. */
export interface QuantileRange {
  readonly lower: number | null;
  readonly upper: number | null;
}

/**
 * @returns the bucket that holds the value of nearest rank ceil(p × n / 100), narrowed by min and max where they are
 * known; null when there are no values. `milliPercent` is p in thousandths of a percent. A histogram knows no more
 * than this range: a point in it would be made up.
 */
export function quantileRange(buckets: Buckets, milliPercent: number): QuantileRange | null {
  const ranges = [...rangesOf(buckets)];
  const n = ranges.reduce((sum, range) => sum + range.count, 0n);
  if (n === 0n) return null;
  const scaled = (BigInt(milliPercent) * n + 99_999n) / 100_000n;
  let left = scaled < 1n ? 1n : scaled;
  for (const { lower, upper, count } of ranges) {
    left -= count;
    if (left > 0n) continue;
    return { lower: within(lower, buckets.min, Math.max), upper: within(upper, buckets.max, Math.min) };
  }
  return null;
}

function within(
  bound: number | null,
  limit: number | null,
  pick: (a: number, b: number) => number,
): number | null {
  return bound === null || limit === null ? (bound ?? limit) : pick(bound, limit);
}

/** Ascending ranges with their counts. */
function* rangesOf(buckets: Buckets): Generator<QuantileRange & { readonly count: bigint }> {
  if (buckets.kind === 'explicit') {
    const { bounds, counts } = buckets;
    for (let i = 0; i < counts.length; i++) {
      yield { lower: bounds[i - 1] ?? null, upper: bounds[i] ?? null, count: counts[i] };
    }
    return;
  }
  const bound = (i: number) => 2 ** (i * 2 ** -buckets.scale);
  const byIndex = (side: ReadonlyMap<number, bigint>) => [...side].sort(([a], [b]) => a - b);
  for (const [i, count] of byIndex(buckets.negative).reverse())
    yield { lower: -bound(i + 1), upper: -bound(i), count };
  yield { lower: 0, upper: 0, count: buckets.zeroCount };
  for (const [i, count] of byIndex(buckets.positive)) yield { lower: bound(i), upper: bound(i + 1), count };
}
