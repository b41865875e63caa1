import type { Metric, MetricPoint } from '../model/input.ts';
import type { Collector, Position } from './collector.ts';
import { refuse } from './otlp-json.ts';
import {
  decodeAttributes,
  field,
  isObject,
  type JsonObject,
  list,
  safeInteger,
  text,
} from './otlp-values.ts';
import { quote } from './quote.ts';
import { toInteger, toUnixNano } from './times.ts';

type Temporality = Metric['temporality'];

/** Bit of `DataPoint.flags`: the series ended, there is no value. */
export const NO_RECORDED_VALUE = 1;

/** OTLP/JSON metrics, as leniently as {@link readResourceSpans} reads spans. */
export function readResourceMetrics(resourceMetrics: unknown, collector: Collector, at: Position): void {
  if (!isObject(resourceMetrics)) {
    refuse('ResourceMetrics', resourceMetrics, collector, at);
    return;
  }
  const resource = decodeAttributes(
    isObject(resourceMetrics.resource) ? resourceMetrics.resource.attributes : undefined,
  );
  const scopes = [
    ...list(field(resourceMetrics, 'scopeMetrics', 'scope_metrics')),
    ...list(field(resourceMetrics, 'instrumentationLibraryMetrics', 'instrumentation_library_metrics')),
  ];
  for (const scope of scopes) {
    if (!isObject(scope)) {
      refuse('ScopeMetrics', scope, collector, at);
      continue;
    }
    for (const metric of list(scope.metrics)) {
      if (!isObject(metric)) refuse('Metric', metric, collector, at);
      else collector.metrics.push(decodeMetric(metric, resource, collector, at));
    }
  }
}

function decodeMetric(
  metric: JsonObject,
  resource: Metric['resource'],
  collector: Collector,
  at: Position,
): Metric {
  const name = text(metric.name);
  const data = dataOf(metric);
  const points: MetricPoint[] = [];
  if (data !== null) {
    for (const point of list(field(data.value, 'dataPoints', 'data_points'))) {
      const decoded = isObject(point) ? data.decode(point) : null;
      if (decoded !== null) points.push(decoded);
      else collector.reject(at, `metric ${quote(name)}: a data point without a time`);
    }
  }
  return {
    name,
    unit: text(metric.unit),
    resource,
    temporality: temporality(data && field(data.value, 'aggregationTemporality', 'aggregation_temporality')),
    monotonic: data !== null && field(data.value, 'isMonotonic', 'is_monotonic') === true,
    points,
  };
}

type Decode = (point: JsonObject) => MetricPoint | null;

function dataOf(metric: JsonObject): { value: JsonObject; decode: Decode } | null {
  for (const [camel, snake, decode] of DATA) {
    const value = field(metric, camel, snake);
    if (isObject(value)) return { value, decode };
  }
  return null;
}

const DATA: readonly (readonly [string, string, Decode])[] = [
  ['gauge', 'gauge', decodeNumber],
  ['sum', 'sum', decodeNumber],
  ['histogram', 'histogram', decodeHistogram],
  ['exponentialHistogram', 'exponential_histogram', decodeExponential],
  ['summary', 'summary', decodeSummary],
];

function temporality(value: unknown): Temporality {
  switch (text(value).toUpperCase().replace('AGGREGATION_TEMPORALITY_', '')) {
    case '1':
    case 'DELTA':
      return 'delta';
    case '2':
    case 'CUMULATIVE':
      return 'cumulative';
    default:
      return 'unspecified';
  }
}

function base(point: JsonObject) {
  const timeUnixNano = toUnixNano(field(point, 'timeUnixNano', 'time_unix_nano'));
  if (timeUnixNano === null) return null;
  return {
    timeUnixNano,
    startUnixNano: toUnixNano(field(point, 'startTimeUnixNano', 'start_time_unix_nano')),
    attributes: decodeAttributes(point.attributes ?? point.labels),
  };
}

function decodeNumber(point: JsonObject): MetricPoint | null {
  const common = base(point);
  return common && { kind: 'number', ...common, value: numberValue(point) };
}

function numberValue(point: JsonObject): number | bigint | null {
  if ((Number(point.flags ?? 0) & NO_RECORDED_VALUE) !== 0) return null;
  const int = field(point, 'asInt', 'as_int');
  if (int !== undefined) return safeInteger(toInteger(int));
  return double(field(point, 'asDouble', 'as_double'));
}

function decodeHistogram(point: JsonObject): MetricPoint | null {
  const common = base(point);
  return (
    common && {
      kind: 'histogram',
      ...common,
      ...summaryOf(point),
      bounds: list(field(point, 'explicitBounds', 'explicit_bounds')).map(Number),
      bucketCounts: counts(field(point, 'bucketCounts', 'bucket_counts')),
    }
  );
}

function decodeExponential(point: JsonObject): MetricPoint | null {
  const common = base(point);
  return (
    common && {
      kind: 'exponential',
      ...common,
      ...summaryOf(point),
      scale: Number(point.scale ?? 0) || 0,
      zeroCount: toInteger(field(point, 'zeroCount', 'zero_count')) ?? 0n,
      positive: buckets(point.positive),
      negative: buckets(point.negative),
    }
  );
}

function decodeSummary(point: JsonObject): MetricPoint | null {
  const common = base(point);
  if (common === null) return null;
  const quantiles = list(field(point, 'quantileValues', 'quantile_values'))
    .filter(isObject)
    .map((entry) => ({ quantile: double(entry.quantile) ?? 0, value: double(entry.value) ?? 0 }));
  return {
    kind: 'summary',
    ...common,
    count: toInteger(point.count) ?? 0n,
    sum: double(point.sum),
    quantiles,
  };
}

function summaryOf(point: JsonObject) {
  return {
    count: toInteger(point.count) ?? 0n,
    sum: double(point.sum),
    min: double(point.min),
    max: double(point.max),
  };
}

function buckets(value: unknown) {
  if (!isObject(value)) return { offset: 0, counts: [] };
  return {
    offset: Number(value.offset ?? 0) || 0,
    counts: counts(field(value, 'bucketCounts', 'bucket_counts')),
  };
}

function counts(value: unknown): bigint[] {
  return list(value).map((count) => toInteger(count) ?? 0n);
}

/** JSON spells the special doubles as "NaN", "Infinity" and "-Infinity". */
function double(value: unknown): number | null {
  return value === undefined || value === null ? null : Number(value);
}
