import type { AttributeValue } from '../model/attributes.ts';
import type { SpanEvent, SpanLink } from '../model/span.ts';
import type { Collector, Position } from './collector.ts';
import { canonicalIdBytes, SPAN_DIGITS, TRACE_DIGITS } from './ids.ts';
import { readKeyValue, readResourceAttributes, readScope } from './otlp-proto-values.ts';
import { ProtoFields, WIRE } from './proto-wire.ts';
import { boundedTime } from './times.ts';

/**
 * `ResourceSpans` of opentelemetry/proto/trace/v1/trace.proto: resource 1, scope_spans 2, and field 1000, which
 * carried instrumentation_library_spans before OTLP 0.19 and has the same layout. Unknown fields are skipped.
 */
export function readResourceSpansProto(message: Buffer, collector: Collector, at: Position): void {
  const attributes = new Map<string, AttributeValue>();
  const scopes: [number, number][] = [];
  const fields = new ProtoFields(message, 0, message.length);
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) readResourceAttributes(fields.message(), attributes);
    else if (fields.is(2, WIRE.bytes) || fields.is(1000, WIRE.bytes))
      scopes.push([fields.bytesFrom(), fields.end]);
    else fields.skip();
  }
  const resource = collector.builder.resource(attributes);
  for (const [from, end] of scopes) readScopeSpans(message, from, end, resource, collector, at);
}

function readScopeSpans(
  message: Buffer,
  from: number,
  end: number,
  resource: number,
  collector: Collector,
  at: Position,
): void {
  let scope = { name: '', version: '' };
  const spans: ProtoFields[] = [];
  const fields = new ProtoFields(message, from, end);
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) scope = readScope(fields.message());
    else if (fields.is(2, WIRE.bytes)) spans.push(fields.message());
    else fields.skip();
  }
  const scopeIndex = collector.builder.scope(scope.name, scope.version);
  for (const span of spans) readSpan(span, resource, scopeIndex, collector, at);
}

function readSpan(
  fields: ProtoFields,
  resource: number,
  scope: number,
  collector: Collector,
  at: Position,
): void {
  let traceId = '';
  let spanId = '';
  let parentSpanId = '';
  let traceState = '';
  let name = '';
  let kind = 0;
  let start: bigint | undefined;
  let end: bigint | undefined;
  let status = { code: 0, message: '' };
  const attributes = new Map<string, AttributeValue>();
  const links: SpanLink[] = [];
  const events: SpanEvent[] = [];
  while (fields.next()) {
    if (fields.wire === WIRE.bytes) {
      switch (fields.number) {
        case 1:
          traceId = canonicalIdBytes(fields.bytes(), TRACE_DIGITS);
          break;
        case 2:
          spanId = canonicalIdBytes(fields.bytes(), SPAN_DIGITS);
          break;
        case 3:
          traceState = fields.text();
          break;
        case 4:
          parentSpanId = canonicalIdBytes(fields.bytes(), SPAN_DIGITS);
          break;
        case 5:
          name = fields.text();
          break;
        case 9:
          readKeyValue(fields.message(), attributes);
          break;
        case 11:
          events.push(readEvent(fields.message()));
          break;
        case 13:
          links.push(readLink(fields.message()));
          break;
        case 15:
          status = readStatus(fields.message());
          break;
        default:
          fields.skip();
      }
    } else if (fields.is(6, WIRE.varint)) kind = enumValue(fields.int32(), 5);
    else if (fields.is(7, WIRE.fixed64)) start = fields.fixed64();
    else if (fields.is(8, WIRE.fixed64)) end = fields.fixed64();
    else fields.skip();
  }
  if (!collector.validIds(traceId, spanId, name, at)) return;
  collector.builder.add({
    traceId,
    spanId,
    parentSpanId,
    followsFrom: false,
    shared: false,
    name,
    kind,
    // proto3 leaves a zero out: with an end there, an absent start is the instant 0.
    startUnixNano: boundedTime(start ?? (end === undefined ? null : 0n)),
    endUnixNano: boundedTime(end ?? null),
    statusCode: status.code,
    statusMessage: status.message,
    traceState,
    resource,
    scope,
    attributes,
    links,
    events,
  });
}

function enumValue(value: number, last: number): number {
  return value >= 0 && value <= last ? value : 0;
}

/** `Status`: message 2, code 3 (1 is the deprecated code). */
function readStatus(fields: ProtoFields): { code: number; message: string } {
  let code = 0;
  let message = '';
  while (fields.next()) {
    if (fields.is(2, WIRE.bytes)) message = fields.text();
    else if (fields.is(3, WIRE.varint)) code = enumValue(fields.int32(), 2);
    else fields.skip();
  }
  return { code, message };
}

/** `Event`: time 1, name 2, attributes 3. */
function readEvent(fields: ProtoFields): SpanEvent {
  let timeUnixNano: bigint | null = null;
  let name = '';
  const attributes = new Map<string, AttributeValue>();
  while (fields.next()) {
    if (fields.is(1, WIRE.fixed64)) timeUnixNano = boundedTime(fields.fixed64());
    else if (fields.is(2, WIRE.bytes)) name = fields.text();
    else if (fields.is(3, WIRE.bytes)) readKeyValue(fields.message(), attributes);
    else fields.skip();
  }
  return { timeUnixNano, name, attributes };
}

/** `Link`: trace_id 1, span_id 2, trace_state 3, attributes 4. */
function readLink(fields: ProtoFields): SpanLink {
  let traceId = '';
  let spanId = '';
  let traceState = '';
  const attributes = new Map<string, AttributeValue>();
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) traceId = canonicalIdBytes(fields.bytes(), TRACE_DIGITS);
    else if (fields.is(2, WIRE.bytes)) spanId = canonicalIdBytes(fields.bytes(), SPAN_DIGITS);
    else if (fields.is(3, WIRE.bytes)) traceState = fields.text();
    else if (fields.is(4, WIRE.bytes)) readKeyValue(fields.message(), attributes);
    else fields.skip();
  }
  return { traceId, spanId, traceState, attributes };
}
