import type { AttributeValue } from '../model/attributes.ts';
import type { Metric, MetricPoint } from '../model/input.ts';
import type { Collector, Position } from './collector.ts';
import { NO_RECORDED_VALUE } from './otlp-metrics-json.ts';
import { readKeyValue, readResourceAttributes } from './otlp-proto-values.ts';
import { safeInteger } from './otlp-values.ts';
import { ProtoFields, WIRE } from './proto-wire.ts';
import { quote } from './quote.ts';
import { boundedTime } from './times.ts';

/** `ResourceMetrics` of opentelemetry/proto/metrics/v1/metrics.proto: resource 1, scope_metrics 2 (old: 1000). */
export function readResourceMetricsProto(message: Buffer, collector: Collector, at: Position): void {
  const resource = new Map<string, AttributeValue>();
  const metrics: ProtoFields[] = [];
  const fields = ProtoFields.of(message);
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) readResourceAttributes(fields.message(), resource);
    else if (fields.is(2, WIRE.bytes) || fields.is(1000, WIRE.bytes)) {
      const scope = fields.message();
      while (scope.next()) {
        if (scope.is(2, WIRE.bytes)) metrics.push(scope.message());
        else scope.skip();
      }
    } else fields.skip();
  }
  for (const metric of metrics) collector.metrics.push(readMetric(metric, resource, collector, at));
}

type ReadPoint = (fields: ProtoFields) => MetricPoint | null;

const POINTS = new Map<number, ReadPoint>([
  [5, readNumber],
  [7, readNumber],
  [9, readHistogram],
  [10, readExponential],
  [11, readSummary],
]);

/** `Metric`: name 1, unit 3, and one of gauge 5, sum 7, histogram 9, exponential_histogram 10, summary 11. */
function readMetric(
  fields: ProtoFields,
  resource: Metric['resource'],
  collector: Collector,
  at: Position,
): Metric {
  let name = '';
  let unit = '';
  let temporality: Metric['temporality'] = 'unspecified';
  let monotonic = false;
  let timeless = 0;
  const points: MetricPoint[] = [];
  while (fields.next()) {
    const readPoint = POINTS.get(fields.number);
    if (fields.wire !== WIRE.bytes) fields.skip();
    else if (fields.number === 1) name = fields.text();
    else if (fields.number === 3) unit = fields.text();
    else if (readPoint === undefined) fields.skip();
    else {
      const data = fields.message();
      while (data.next()) {
        if (data.is(1, WIRE.bytes)) {
          const point = readPoint(data.message());
          if (point === null) timeless++;
          else points.push(point);
        } else if (data.is(2, WIRE.varint)) temporality = TEMPORALITIES[data.int32()] ?? 'unspecified';
        else if (data.is(3, WIRE.varint)) monotonic = data.varint() !== 0n;
        else data.skip();
      }
    }
  }
  for (; timeless > 0; timeless--) {
    collector.reject(at, `metric ${quote(name)}: a data point without a time`);
  }
  return { name, unit, resource, temporality, monotonic, points };
}

const TEMPORALITIES: readonly Metric['temporality'][] = ['unspecified', 'delta', 'cumulative'];

/** Fields with the same number and type in all kinds of points: start 2, time 3. */
class Common {
  start: bigint | null = null;
  time: bigint | null = null;
  readonly attributes = new Map<string, AttributeValue>();

  take(fields: ProtoFields, attributesNumber: number): boolean {
    if (fields.is(2, WIRE.fixed64)) this.start = boundedTime(fields.fixed64());
    else if (fields.is(3, WIRE.fixed64)) this.time = boundedTime(fields.fixed64());
    else if (fields.is(attributesNumber, WIRE.bytes)) readKeyValue(fields.message(), this.attributes);
    else return false;
    return true;
  }

  point() {
    if (this.time === null) return null;
    return { timeUnixNano: this.time, startUnixNano: this.start, attributes: this.attributes };
  }
}

/** `NumberDataPoint`: as_double 4, as_int 6, attributes 7, flags 8. */
function readNumber(fields: ProtoFields): MetricPoint | null {
  const common = new Common();
  let value: number | bigint | null = null;
  let flags = 0;
  while (fields.next()) {
    if (common.take(fields, 7)) continue;
    if (fields.is(4, WIRE.fixed64)) value = fields.double();
    else if (fields.is(6, WIRE.fixed64)) value = safeInteger(BigInt.asIntN(64, fields.fixed64()));
    else if (fields.is(8, WIRE.varint)) flags = fields.int32();
    else fields.skip();
  }
  const point = common.point();
  return point && { kind: 'number', ...point, value: (flags & NO_RECORDED_VALUE) !== 0 ? null : value };
}

/** `HistogramDataPoint`: count 4, sum 5, bucket_counts 6, explicit_bounds 7, attributes 9, min 11, max 12. */
function readHistogram(fields: ProtoFields): MetricPoint | null {
  const common = new Common();
  const bucketCounts: bigint[] = [];
  const bounds: number[] = [];
  let count = 0n;
  let sum: number | null = null;
  let min: number | null = null;
  let max: number | null = null;
  while (fields.next()) {
    if (common.take(fields, 9)) continue;
    if (fields.is(4, WIRE.fixed64)) count = fields.fixed64();
    else if (fields.is(5, WIRE.fixed64)) sum = fields.double();
    else if (fields.number === 6 && isFixed64List(fields)) fields.packedFixed64(bucketCounts);
    else if (fields.number === 7 && isFixed64List(fields)) fields.packedDouble(bounds);
    else if (fields.is(11, WIRE.fixed64)) min = fields.double();
    else if (fields.is(12, WIRE.fixed64)) max = fields.double();
    else fields.skip();
  }
  const point = common.point();
  return point && { kind: 'histogram', ...point, count, sum, min, max, bounds, bucketCounts };
}

function isFixed64List(fields: ProtoFields): boolean {
  return fields.wire === WIRE.bytes || fields.wire === WIRE.fixed64;
}

/**
 * `ExponentialHistogramDataPoint`: attributes 1, count 4, sum 5, scale 6, zero_count 7, positive 8, negative 9,
 * min 12, max 13.
 */
function readExponential(fields: ProtoFields): MetricPoint | null {
  const common = new Common();
  let count = 0n;
  let sum: number | null = null;
  let min: number | null = null;
  let max: number | null = null;
  let scale = 0;
  let zeroCount = 0n;
  let positive = { offset: 0, counts: [] as bigint[] };
  let negative = { offset: 0, counts: [] as bigint[] };
  while (fields.next()) {
    if (common.take(fields, 1)) continue;
    if (fields.is(4, WIRE.fixed64)) count = fields.fixed64();
    else if (fields.is(5, WIRE.fixed64)) sum = fields.double();
    else if (fields.is(6, WIRE.varint)) scale = fields.sint32();
    else if (fields.is(7, WIRE.fixed64)) zeroCount = fields.fixed64();
    else if (fields.is(8, WIRE.bytes)) positive = readBuckets(fields.message());
    else if (fields.is(9, WIRE.bytes)) negative = readBuckets(fields.message());
    else if (fields.is(12, WIRE.fixed64)) min = fields.double();
    else if (fields.is(13, WIRE.fixed64)) max = fields.double();
    else fields.skip();
  }
  const point = common.point();
  return (
    point && { kind: 'exponential', ...point, count, sum, min, max, scale, zeroCount, positive, negative }
  );
}

/** `Buckets`: offset 1, bucket_counts 2. */
function readBuckets(fields: ProtoFields): { offset: number; counts: bigint[] } {
  let offset = 0;
  const counts: bigint[] = [];
  while (fields.next()) {
    if (fields.is(1, WIRE.varint)) offset = fields.sint32();
    else if (fields.number === 2 && (fields.wire === WIRE.bytes || fields.wire === WIRE.varint)) {
      fields.packedVarint(counts);
    } else fields.skip();
  }
  return { offset, counts };
}

/** `SummaryDataPoint`: count 4, sum 5, quantile_values 6, attributes 7. */
function readSummary(fields: ProtoFields): MetricPoint | null {
  const common = new Common();
  let count = 0n;
  let sum: number | null = null;
  const quantiles: { quantile: number; value: number }[] = [];
  while (fields.next()) {
    if (common.take(fields, 7)) continue;
    if (fields.is(4, WIRE.fixed64)) count = fields.fixed64();
    else if (fields.is(5, WIRE.fixed64)) sum = fields.double();
    else if (fields.is(6, WIRE.bytes)) quantiles.push(readQuantile(fields.message()));
    else fields.skip();
  }
  const point = common.point();
  return point && { kind: 'summary', ...point, count, sum, quantiles };
}

function readQuantile(fields: ProtoFields): { quantile: number; value: number } {
  let quantile = 0;
  let value = 0;
  while (fields.next()) {
    if (fields.is(1, WIRE.fixed64)) quantile = fields.double();
    else if (fields.is(2, WIRE.fixed64)) value = fields.double();
    else fields.skip();
  }
  return { quantile, value };
}
