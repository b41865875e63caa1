import type { AttributeValue } from '../model/attributes.ts';
import type { ExponentialHistogramPoint, HistogramPoint, Metric } from '../model/input.ts';
import { type Buckets, explicitBuckets, exponentialBuckets, minus, plus } from './metric-buckets.ts';

type Point = HistogramPoint | ExponentialHistogramPoint;

/** A span of time: points recorded after `fromUnixNano`, up to and including `toUnixNano`. */
export interface MetricWindow {
  readonly fromUnixNano: bigint;
  readonly toUnixNano: bigint;
}

export interface MergedHistogram {
  readonly buckets: Buckets;
  /** Different Resource and attribute sets added up. */
  readonly series: number;
  /** Times a cumulative series began again from zero inside the window. */
  readonly resets: number;
}

/** The merged histogram, or why these points cannot be added up. */
export type MergeResult = { readonly merged: MergedHistogram } | { readonly refused: string };

/**
 * Adds up every histogram of one metric over its instances and over time, before any quantile is taken:
 * quantiles themselves cannot be averaged.
 *
 * Delta points are added. Of a cumulative series the increase within the window counts: the last point in it minus
 * the last one before it. A series whose start time moves forward, or one of whose counts falls, has begun again
 * from zero, and what it had counted before stays counted. Without a point before the window the first one counts
 * only if the series started inside the window; else it is the baseline, for its increase is not known.
 */
export function mergeHistograms(metrics: readonly Metric[], window: MetricWindow | null = null): MergeResult {
  let total: Buckets | null = null;
  let resets = 0;
  const all = seriesOf(metrics);
  for (const { temporality, points } of all.values()) {
    if (temporality === 'unspecified')
      return { refused: 'its temporality is not given: delta or cumulative' };
    const part = temporality === 'delta' ? sumOfDeltas(points, window) : increase(points, window);
    if ('refused' in part) return part;
    resets += part.resets;
    if (part.buckets === null) continue;
    const sum: Buckets | string = total === null ? part.buckets : plus(total, part.buckets);
    if (typeof sum === 'string') return { refused: sum };
    total = sum;
  }
  if (total === null) return { refused: 'it has no histogram point in this window' };
  return { merged: { buckets: total, series: all.size, resets } };
}

interface Series {
  readonly temporality: Metric['temporality'];
  readonly points: Point[];
}

function seriesOf(metrics: readonly Metric[]): Map<string, Series> {
  const all = new Map<string, Series>();
  for (const metric of metrics) {
    for (const point of metric.points) {
      if (point.kind !== 'histogram' && point.kind !== 'exponential') continue;
      const key = `${metric.temporality} ${point.kind} ${keyOf(metric.resource)} ${keyOf(point.attributes)}`;
      const series = all.get(key);
      if (series === undefined) all.set(key, { temporality: metric.temporality, points: [point] });
      else series.points.push(point);
    }
  }
  for (const series of all.values()) series.points.sort(byTime);
  return all;
}

function byTime(a: Point, b: Point): number {
  return a.timeUnixNano < b.timeUnixNano ? -1 : a.timeUnixNano > b.timeUnixNano ? 1 : 0;
}

function keyOf(attributes: ReadonlyMap<string, AttributeValue>): string {
  const entries = [...attributes].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value));
}

type Part = { readonly buckets: Buckets | null; readonly resets: number } | { readonly refused: string };

function bucketsOf(point: Point): Buckets {
  return point.kind === 'histogram' ? explicitBuckets(point) : exponentialBuckets(point);
}

function sumOfDeltas(points: readonly Point[], window: MetricWindow | null): Part {
  let buckets: Buckets | null = null;
  for (const point of distinct(points)) {
    if (!inside(point, window)) continue;
    const sum: Buckets | string = buckets === null ? bucketsOf(point) : plus(buckets, bucketsOf(point));
    if (typeof sum === 'string') return { refused: sum };
    buckets = sum;
  }
  return { buckets, resets: 0 };
}

/** Retries deliver a point twice; the same series has one point an instant. */
function distinct(points: readonly Point[]): Point[] {
  return points.filter((point, i) => i === 0 || point.timeUnixNano !== points[i - 1].timeUnixNano);
}

function increase(points: readonly Point[], window: MetricWindow | null): Part {
  let total: Buckets | null = null;
  let previous: Point | null = null;
  let resets = 0;
  for (const point of distinct(points)) {
    const before = previous;
    previous = point;
    if (!inside(point, window)) continue;
    const current = bucketsOf(point);
    let grown: Buckets | string | null;
    if (before === null) grown = startedInside(point, window) ? current : null;
    else if (restarted(before, point)) grown = current;
    else grown = minus(current, bucketsOf(before));
    if (typeof grown === 'string') return { refused: grown };
    if (before !== null && (grown === null || restarted(before, point))) resets++;
    // A count that fell without a new start time is a restart too.
    if (grown === null && before !== null) grown = current;
    if (grown === null) continue;
    const sum: Buckets | string = total === null ? grown : plus(total, grown);
    if (typeof sum === 'string') return { refused: sum };
    total = sum;
  }
  return { buckets: total, resets };
}

function inside(point: Point, window: MetricWindow | null): boolean {
  return (
    window === null || (point.timeUnixNano > window.fromUnixNano && point.timeUnixNano <= window.toUnixNano)
  );
}

function startedInside(point: Point, window: MetricWindow | null): boolean {
  return window === null || (point.startUnixNano !== null && point.startUnixNano >= window.fromUnixNano);
}

function restarted(before: Point, point: Point): boolean {
  return (
    before.startUnixNano !== null &&
    point.startUnixNano !== null &&
    point.startUnixNano > before.startUnixNano
  );
}
