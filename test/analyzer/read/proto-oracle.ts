import protobuf from 'protobufjs';

/**
 * The messages of OTLP that we read, declared for protobufjs: an encoder that shares no code with our reader.
 * Field numbers are those of opentelemetry-proto; the old library list is field 1000.
 */
const { root } = protobuf.parse(`
syntax = "proto3";
message TracesData { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans {
  Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3;
  repeated ScopeSpans instrumentation_library_spans = 1000;
}
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  uint32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10; repeated Event events = 11;
  uint32 dropped_events_count = 12; repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15;
  fixed32 flags = 16; string from_the_future = 900;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; }
message Status { string message = 2; uint32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
message MetricsData { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
message Metric {
  string name = 1; string description = 2; string unit = 3;
  oneof data {
    Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; ExponentialHistogram exponential_histogram = 10;
    Summary summary = 11;
  }
}
message Gauge { repeated NumberDataPoint data_points = 1; }
message Sum { repeated NumberDataPoint data_points = 1; uint32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Histogram { repeated HistogramDataPoint data_points = 1; uint32 aggregation_temporality = 2; }
message ExponentialHistogram { repeated ExponentialPoint data_points = 1; uint32 aggregation_temporality = 2; }
message Summary { repeated SummaryPoint data_points = 1; }
message NumberDataPoint {
  repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3;
  oneof value { double as_double = 4; sfixed64 as_int = 6; } uint32 flags = 8;
}
message HistogramDataPoint {
  repeated KeyValue attributes = 9; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4;
  optional double sum = 5; repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7;
  optional double min = 11; optional double max = 12;
}
message ExponentialPoint {
  repeated KeyValue attributes = 1; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4;
  optional double sum = 5; sint32 scale = 6; fixed64 zero_count = 7; Buckets positive = 8; Buckets negative = 9;
  optional double min = 12; optional double max = 13;
}
message Buckets { sint32 offset = 1; repeated uint64 bucket_counts = 2; }
message SummaryPoint {
  repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4;
  double sum = 5; repeated Quantile quantile_values = 6;
}
message Quantile { double quantile = 1; double value = 2; }
message LogsData { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; }
message LogRecord { fixed64 time_unix_nano = 1; uint32 severity_number = 2; AnyValue body = 5; }
`);

/** Encodes OTLP/JSON (hex ids, camelCase) as a protobuf message of `type`. */
export function encodeProto(type: string, json: object): Buffer {
  const message = root.lookupType(type);
  return Buffer.from(message.encode(message.fromObject(toProtobufjs(json) as object)).finish());
}

/** Decodes a message into protobufjs' own objects. */
export function decodeProto(type: string, bytes: Uint8Array): protobuf.Message {
  return root.lookupType(type).decode(bytes);
}

const IDS = new Set(['traceId', 'spanId', 'parentSpanId']);

/** protobufjs takes bytes as base64 text and 64-bit integers as decimal text. */
function toProtobufjs(value: unknown, key = ''): unknown {
  if (IDS.has(key)) return Buffer.from(value as string, 'hex').toString('base64');
  if (Array.isArray(value)) return value.map((item) => toProtobufjs(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toProtobufjs(inner, name)]));
}

/** A 4-byte big-endian length, then the message. */
export function lengthPrefixed(message: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length);
  return Buffer.concat([length, message]);
}

/** A varint length, then the message. */
export function varintDelimited(message: Uint8Array): Buffer {
  const length: number[] = [];
  let rest = message.length;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), message]);
}
