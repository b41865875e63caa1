import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantileRange } from '../../../analyzer/src/aggregate/metric-buckets.ts';
import { type MetricWindow, mergeHistograms } from '../../../analyzer/src/aggregate/metric-histogram.ts';
import type { HistogramPoint, Metric, MetricPoint } from '../../../analyzer/src/model/input.ts';

const BOUNDS = [10, 100];

function point(time: number, counts: readonly number[], more: Partial<HistogramPoint> = {}): HistogramPoint {
  const bucketCounts = counts.map(BigInt);
  return {
    kind: 'histogram',
    timeUnixNano: BigInt(time),
    startUnixNano: 0n,
    attributes: new Map(),
    count: bucketCounts.reduce((a, b) => a + b, 0n),
    sum: null,
    min: null,
    max: null,
    bounds: BOUNDS,
    bucketCounts,
    ...more,
  };
}

function exponential(
  time: number,
  scale: number,
  offset: number,
  counts: readonly number[],
  zero = 0,
): MetricPoint {
  const bucketCounts = counts.map(BigInt);
  return {
    kind: 'exponential',
    timeUnixNano: BigInt(time),
    startUnixNano: 0n,
    attributes: new Map(),
    count: bucketCounts.reduce((a, b) => a + b, BigInt(zero)),
    sum: null,
    min: null,
    max: null,
    scale,
    zeroCount: BigInt(zero),
    positive: { offset, counts: bucketCounts },
    negative: { offset: 0, counts: [] },
  };
}

function metric(temporality: Metric['temporality'], instance: string, ...points: MetricPoint[]): Metric {
  return {
    name: 'wait_time',
    unit: 'ms',
    resource: new Map([['service.instance.id', instance]]),
    temporality,
    monotonic: false,
    points,
  };
}

/** `series resets: counts`, or the refusal. */
function merged(metrics: readonly Metric[], window: MetricWindow | null = null): string {
  const result = mergeHistograms(metrics, window);
  if ('refused' in result) return result.refused;
  const { buckets, series, resets } = result.merged;
  const counts =
    buckets.kind === 'explicit'
      ? buckets.counts.join(' ')
      : `scale ${buckets.scale} zero ${buckets.zeroCount} ${[...buckets.positive].map(([i, n]) => `${i}:${n}`).join(' ')}`;
  return `${series} series, ${resets} resets: ${counts}`;
}

test('delta points of all instances add up', () => {
  const a = metric('delta', 'a', point(1, [1, 2, 0]), point(2, [1, 0, 0]));
  const b = metric('delta', 'b', point(1, [0, 0, 5]));
  assert.equal(merged([a, b]), '2 series, 0 resets: 2 2 5');
});

test('a point delivered twice counts once', () => {
  assert.equal(
    merged([metric('delta', 'a', point(1, [1, 0, 0])), metric('delta', 'a', point(1, [1, 0, 0]))]),
    '1 series, 0 resets: 1 0 0',
  );
});

test('of a cumulative series the last point counts, in whatever order they come', () => {
  const a = metric('cumulative', 'a', point(3, [3, 2, 1]), point(1, [1, 0, 0]), point(2, [2, 1, 0]));
  assert.equal(merged([a]), '1 series, 0 resets: 3 2 1');
});

test('a counter that starts again keeps what it had counted', () => {
  const told = [
    point(1, [5, 0, 0]),
    point(2, [6, 0, 0], { startUnixNano: 2n }),
    point(3, [7, 0, 0], { startUnixNano: 2n }),
  ];
  assert.equal(merged([metric('cumulative', 'a', ...told)]), '1 series, 1 resets: 12 0 0');
  const fell = [point(1, [5, 3, 0]), point(2, [2, 0, 0]), point(3, [2, 1, 0])];
  assert.equal(merged([metric('cumulative', 'a', ...fell)]), '1 series, 1 resets: 7 4 0');
  const oneBucketFell = [point(1, [5, 0, 0]), point(2, [0, 6, 0])];
  assert.equal(merged([metric('cumulative', 'a', ...oneBucketFell)]), '1 series, 1 resets: 5 6 0');
});

test('a window takes the increase inside it', () => {
  const a = metric(
    'cumulative',
    'a',
    point(10, [1, 0, 0]),
    point(20, [3, 0, 0]),
    point(30, [3, 4, 0]),
    point(40, [9, 9, 9]),
  );
  assert.equal(merged([a], { fromUnixNano: 10n, toUnixNano: 30n }), '1 series, 0 resets: 2 4 0');
  // No point before the window: the first one is the baseline, unless the series began inside.
  assert.equal(merged([a], { fromUnixNano: 5n, toUnixNano: 20n }), '1 series, 0 resets: 2 0 0');
  assert.equal(merged([a], { fromUnixNano: 0n, toUnixNano: 20n }), '1 series, 0 resets: 3 0 0');
  assert.equal(
    merged([a], { fromUnixNano: 50n, toUnixNano: 60n }),
    'it has no histogram point in this window',
  );
});

test('what does not fit together is refused', () => {
  const other = point(1, [1, 1, 1], { bounds: [10, 200] });
  assert.equal(
    merged([metric('delta', 'a', point(1, [1, 0, 0])), metric('delta', 'b', other)]),
    'bucket bounds differ: [10, 100] and [10, 200]',
  );
  assert.equal(
    merged([metric('cumulative', 'a', point(1, [1, 0, 0]), point(2, [1, 1, 1], { bounds: [10, 200] }))]),
    'bucket bounds differ: [10, 200] and [10, 100]',
  );
  assert.equal(
    merged([metric('delta', 'a', point(1, [1, 0, 0]), exponential(1, 0, 0, [1]))]),
    'explicit and exponential histograms cannot be added up',
  );
  assert.equal(
    merged([metric('unspecified', 'a', point(1, [1, 0, 0]))]),
    'its temporality is not given: delta or cumulative',
  );
});

test('exponential histograms are added at the coarser scale', () => {
  // Scale 1: bucket i is (√2^i, √2^(i+1)]; at scale 0 buckets -2 and -1 become -1, 2 and 3 become 1.
  const fine = metric('delta', 'a', exponential(1, 1, -2, [1, 1, 0, 0, 2, 3], 4));
  const coarse = metric('delta', 'b', exponential(1, 0, 1, [10]));
  assert.equal(merged([fine, coarse]), '2 series, 0 resets: scale 0 zero 4 -1:2 1:15');
});

test('a quantile is a range: the bucket of its nearest rank', () => {
  const range = (counts: readonly number[], milliPercent: number, more: Partial<HistogramPoint> = {}) => {
    const result = mergeHistograms([metric('delta', 'a', point(1, counts, more))]);
    assert.ok('merged' in result);
    return quantileRange(result.merged.buckets, milliPercent);
  };
  assert.deepEqual(range([50, 49, 1], 50_000), { lower: null, upper: 10 });
  assert.deepEqual(range([50, 49, 1], 99_000), { lower: 10, upper: 100 });
  // Above the last bound nothing is known but that: never the bound itself.
  assert.deepEqual(range([50, 49, 1], 99_900), { lower: 100, upper: null });
  assert.deepEqual(range([50, 49, 1], 99_900, { min: 2, max: 250 }), { lower: 100, upper: 250 });
  assert.deepEqual(range([50, 49, 1], 1, { min: 2, max: 250 }), { lower: 2, upper: 10 });
  assert.equal(range([0, 0, 0], 50_000), null);
});

test('counts beyond 2^53 stay exact', () => {
  const huge = 2n ** 60n;
  const a = metric('delta', 'a', point(1, [0, 0, 0], { bucketCounts: [huge, 1n, 0n], count: huge + 1n }));
  assert.equal(merged([a, metric('delta', 'b', point(1, [0, 1, 0]))]), `2 series, 0 resets: ${huge} 2 0`);
});
