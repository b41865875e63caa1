import type { AttributeValue } from '../model/attributes.ts';
import type { SpanEvent, SpanLink } from '../model/span.ts';
import { FLAG } from '../model/span-codes.ts';
import type { SpanColumns } from '../model/span-columns.ts';
import type { SpanTableBuilder } from '../model/span-table-builder.ts';
import type { StringPool } from '../model/strings.ts';
import type { Collector, Position } from './collector.ts';
import { canonicalIdBytes, SPAN_DIGITS, TRACE_DIGITS } from './ids.ts';
import { internText, readKeyValue, readResourceAttributes, readScope } from './otlp-proto-values.ts';
import { ProtoFields, WIRE } from './proto-wire.ts';
import { boundedTime } from './times.ts';

/**
 * `ResourceSpans` of opentelemetry/proto/trace/v1/trace.proto: resource 1, scope_spans 2, and field 1000, which
 * carried instrumentation_library_spans before OTLP 0.19 and has the same layout. Unknown fields are skipped.
 */
export function readResourceSpansProto(message: Buffer, collector: Collector, at: Position): void {
  const attributes = new Map<string, AttributeValue>();
  const scopes: [number, number][] = [];
  const fields = ProtoFields.of(message);
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
  /** Where each span begins and ends. */
  const spans: number[] = [];
  const fields = new ProtoFields(message, from, end);
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) scope = readScope(fields.message());
    else if (fields.is(2, WIRE.bytes)) spans.push(fields.bytesFrom(), fields.end);
    else fields.skip();
  }
  const scopeIndex = collector.builder.scope(scope.name, scope.version);
  const { view } = fields;
  for (let i = 0; i < spans.length; i += 2) {
    const isRead =
      collector.fast &&
      collector.protoSpans.scan(message, view, spans[i], spans[i + 1], resource, scopeIndex);
    if (isRead) continue;
    readSpan(new ProtoFields(message, spans[i], spans[i + 1], view), resource, scopeIndex, collector, at);
  }
}

/** Writes one span straight into the columns. */
function readSpan(
  fields: ProtoFields,
  resource: number,
  scope: number,
  collector: Collector,
  at: Position,
): void {
  const { builder } = collector;
  const row = builder.open();
  const { columns, strings } = builder;
  for (const column of CLEARED) columns[column][row] = 0;
  columns.resource[row] = resource;
  columns.scope[row] = scope;
  let flags = FLAG.noParent | FLAG.noStart | FLAG.noEnd;
  let startSeen = false;
  let key = 0;
  let hasTraceId = false;
  let hasSpanId = false;
  let links: SpanLink[] | undefined;
  let events: SpanEvent[] | undefined;
  while (fields.next()) {
    if (fields.wire === WIRE.bytes) {
      switch (fields.number) {
        case 1:
          hasTraceId = readTraceId(fields, builder, row);
          break;
        case 2: {
          const id = readSpanId(fields, columns.spanHi, columns.spanLo, builder, row);
          hasSpanId = id !== 'none';
          flags = id === 'opaque' ? flags | FLAG.opaqueId : flags & ~FLAG.opaqueId;
          break;
        }
        case 3:
          columns.traceState[row] = internText(fields, strings);
          break;
        case 4: {
          const id = readSpanId(fields, columns.parentHi, columns.parentLo, builder, row);
          flags &= ~(FLAG.noParent | FLAG.opaqueParent);
          if (id === 'none') flags |= FLAG.noParent;
          else if (id === 'opaque') flags |= FLAG.opaqueParent;
          break;
        }
        case 5:
          columns.name[row] = internText(fields, strings);
          break;
        case 9:
          key = collector.protoAttributes.add(fields, key);
          break;
        case 11:
          events ??= [];
          events.push(readEvent(fields.message()));
          break;
        case 13:
          links ??= [];
          links.push(readLink(fields.message()));
          break;
        case 15:
          readStatus(fields.message(), columns, strings, row);
          break;
        default:
          fields.skip();
      }
    } else if (fields.is(6, WIRE.varint)) columns.kind[row] = enumValue(fields.int32(), 5);
    else if (fields.is(7, WIRE.fixed64)) {
      startSeen = true;
      flags = fields.time(columns.startSec, columns.startNs, row)
        ? flags & ~FLAG.noStart
        : flags | FLAG.noStart;
    } else if (fields.is(8, WIRE.fixed64)) {
      flags = fields.time(columns.endSec, columns.endNs, row) ? flags & ~FLAG.noEnd : flags | FLAG.noEnd;
    } else fields.skip();
  }
  // proto3 leaves a zero out: with an end there, an absent start is the instant 0.
  if (!startSeen && (flags & FLAG.noEnd) === 0) flags &= ~FLAG.noStart;
  if (!hasTraceId || !hasSpanId) {
    const name = strings.text(columns.name[row]);
    collector.rejectSpan(name, `its ${hasTraceId ? 'span id' : 'trace id'} is empty or zero`, at);
    return;
  }
  columns.flags[row] = flags;
  builder.close(row, links, events);
}

const CLEARED = [
  ...(['parentHi', 'parentLo', 'name', 'traceState', 'statusMessage', 'kind', 'status'] as const),
  ...(['startSec', 'startNs', 'endSec', 'endNs'] as const),
];

/** 16 bytes; shorter ones are padded, longer ones opaque. @returns false for an empty or zero id. */
function readTraceId(fields: ProtoFields, builder: SpanTableBuilder, row: number): boolean {
  const from = fields.bytesFrom();
  if (fields.end - from !== 16) {
    const id = canonicalIdBytes(fields.buffer.subarray(from, fields.end), TRACE_DIGITS);
    if (id !== '') builder.columns.trace[row] = builder.traceOf(id);
    return id !== '';
  }
  const { view } = fields;
  const [a, b] = [view.getUint32(from), view.getUint32(from + 4)];
  const [c, d] = [view.getUint32(from + 8), view.getUint32(from + 12)];
  if ((a | b | c | d) === 0) return false;
  builder.columns.trace[row] = builder.trace(a, b, c, d);
  return true;
}

function readSpanId(
  fields: ProtoFields,
  hi: Uint32Array,
  lo: Uint32Array,
  builder: SpanTableBuilder,
  row: number,
): 'hex' | 'opaque' | 'none' {
  const from = fields.bytesFrom();
  if (fields.end - from !== 8) {
    const id = canonicalIdBytes(fields.buffer.subarray(from, fields.end), SPAN_DIGITS);
    if (id === '') return 'none';
    return builder.writeId(id, hi, lo, row) ? 'opaque' : 'hex';
  }
  hi[row] = fields.view.getUint32(from);
  lo[row] = fields.view.getUint32(from + 4);
  return (hi[row] | lo[row]) === 0 ? 'none' : 'hex';
}

function enumValue(value: number, last: number): number {
  return value >= 0 && value <= last ? value : 0;
}

/** `Status`: message 2, code 3 (1 is the deprecated code). */
function readStatus(fields: ProtoFields, columns: SpanColumns, strings: StringPool, row: number): void {
  while (fields.next()) {
    if (fields.is(2, WIRE.bytes)) columns.statusMessage[row] = internText(fields, strings);
    else if (fields.is(3, WIRE.varint)) columns.status[row] = enumValue(fields.int32(), 2);
    else fields.skip();
  }
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
