import protobuf from 'protobufjs';

/** The part of opentelemetry/proto/trace/v1/trace.proto that spans use, for an independent decoder. */
const SCHEMA = `
syntax = "proto3";
message ArrayValue { repeated AnyValue values = 1; }
message AnyValue {
  oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; }
}
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Scope { string name = 1; string version = 2; }
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; fixed32 flags = 6; }
message Status { string message = 2; int32 code = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  repeated Event events = 11; repeated Link links = 13; Status status = 15; fixed32 flags = 16;
}
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Request { repeated ResourceSpans resource_spans = 1; }
`;
const Request = protobuf.parse(SCHEMA).root.lookupType('Request');

export interface DecodedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind: number;
  flags: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, unknown>;
  events: { name: string; timeUnixNano: string; attributes: Record<string, unknown> }[];
  links: { traceId: string; spanId: string; attributes: Record<string, unknown> }[];
  status: { code?: number; message?: string } | null;
  resource: Record<string, unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the decoder found
type Plain = any;

/** @returns the spans of an ExportTraceServiceRequest, decoded by protobufjs. */
export function decodeRequest(body: Buffer): DecodedSpan[] {
  const request: Plain = Request.toObject(Request.decode(body), { longs: String, arrays: true });
  return request.resourceSpans.flatMap((resource: Plain) =>
    resource.scopeSpans.flatMap((scope: Plain) =>
      scope.spans.map((span: Plain) => ({
        ...span,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId ?? []),
        attributes: plain(span.attributes),
        events: span.events.map((event: Plain) => ({ ...event, attributes: plain(event.attributes) })),
        links: span.links.map((link: Plain) => ({
          traceId: hex(link.traceId),
          spanId: hex(link.spanId),
          attributes: plain(link.attributes),
        })),
        status: span.status ?? null,
        resource: plain(resource.resource.attributes),
      })),
    ),
  );
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function plain(attributes: Plain[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue(value: Plain): unknown {
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(plainValue);
  return Object.values(value)[0];
}
