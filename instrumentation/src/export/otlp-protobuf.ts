import type { Attributes, AttributeValue, Link } from '@opentelemetry/api';
import type { ExportableSpan } from './otlp-json.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

/** OTLP `SpanFlags`: whether the parent is remote is known / is true. */
const FLAG_HAS_IS_REMOTE = 0x100;
const FLAG_IS_REMOTE = 0x200;
const MAX_CACHED = 2_000;
/** Longer texts are not worth a place in the cache. */
const MAX_CACHED_LENGTH = 256;

/** Encoded attributes by field, key and value: routes, resources and segment names repeat in every request. */
const fragments = new Map<string, Map<AttributeValue, Buffer>>();
const scratch = new ProtobufWriter();

/**
 * @returns an ExportTraceServiceRequest in protobuf. Field numbers are those of
 * https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
 */
export function encodeRequest(spans: readonly ExportableSpan[]): Buffer {
  const writer = new ProtobufWriter();
  const byResource = new Map<ExportableSpan['resource'], Map<string, ExportableSpan[]>>();
  for (const span of spans) {
    let byScope = byResource.get(span.resource);
    if (byScope === undefined) byResource.set(span.resource, (byScope = new Map()));
    const key = `${span.instrumentationScope.name}\0${span.instrumentationScope.version ?? ''}`;
    const list = byScope.get(key);
    if (list === undefined) byScope.set(key, [span]);
    else list.push(span);
  }
  const parts: Buffer[] = [];
  for (const [resource, byScope] of byResource) {
    // Each span is a message of its own length; the two around them may be larger than a writer's message.
    const scopes: Buffer[] = [];
    for (const [key, list] of byScope) {
      const [name, version] = key.split('\0');
      const scope = writer.open(1);
      writer.string(1, name);
      if (version !== '') writer.string(2, version);
      writer.close(scope);
      for (const span of list) writeSpan(writer, span);
      scopes.push(delimited(2, writer.take()));
    }
    const own = writer.open(1);
    writeAttributes(writer, 1, resource.attributes);
    writer.close(own);
    parts.push(delimited(1, Buffer.concat([writer.take(), ...scopes])));
  }
  return Buffer.concat(parts);
}

/** @returns a message field with its length in front. */
function delimited(field: number, body: Buffer): Buffer {
  const head: number[] = [(field << 3) | 2];
  let rest = body.length;
  while (rest > 0x7f) {
    head.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  head.push(rest);
  return Buffer.concat([Buffer.from(head), body]);
}

function writeSpan(writer: ProtobufWriter, span: ExportableSpan): void {
  const context = span.spanContext();
  const parent = span.parentSpanContext;
  const message = writer.open(2);
  writer.hex(1, context.traceId);
  writer.hex(2, context.spanId);
  const state = context.traceState?.serialize();
  if (state) writer.string(3, state);
  let flags = context.traceFlags & 0xff;
  if (parent !== undefined && parent.spanId !== '') {
    writer.hex(4, parent.spanId);
    flags |= FLAG_HAS_IS_REMOTE | (parent.isRemote === true ? FLAG_IS_REMOTE : 0);
  }
  writer.string(5, span.name);
  writer.varint(6, span.kind + 1);
  writer.time(7, span.startTime);
  writer.time(8, span.endTime);
  writeAttributes(writer, 9, span.attributes);
  if (span.droppedAttributesCount > 0) writer.varint(10, span.droppedAttributesCount);
  for (const event of span.events) {
    const part = writer.open(11);
    writer.time(1, event.time);
    writer.string(2, event.name);
    writeAttributes(writer, 3, event.attributes ?? {});
    writer.close(part);
  }
  if (span.droppedEventsCount > 0) writer.varint(12, span.droppedEventsCount);
  for (const link of span.links) writeLink(writer, link);
  if (span.droppedLinksCount > 0) writer.varint(14, span.droppedLinksCount);
  if (span.status.code !== 0) {
    const part = writer.open(15);
    if (span.status.message) writer.string(2, span.status.message);
    writer.varint(3, span.status.code);
    writer.close(part);
  }
  writer.fixed32(16, flags);
  writer.close(message);
}

function writeLink(writer: ProtobufWriter, link: Link): void {
  const part = writer.open(13);
  writer.hex(1, link.context.traceId);
  writer.hex(2, link.context.spanId);
  writeAttributes(writer, 4, link.attributes ?? {});
  writer.fixed32(6, link.context.traceFlags & 0xff);
  writer.close(part);
}

function writeAttributes(writer: ProtobufWriter, field: number, attributes: Attributes): void {
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined || value === null) continue;
    if (isRepeated(value)) writer.bytes(fragment(field, key, value));
    else writeAttribute(writer, field, key, value);
  }
}

/** Numbers vary from span to span (durations, ids, ports of clients); small ones and texts mostly do not. */
function isRepeated(value: AttributeValue): boolean {
  if (typeof value === 'string') return value.length <= MAX_CACHED_LENGTH;
  if (typeof value === 'boolean') return true;
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 1_000;
}

function fragment(field: number, key: string, value: AttributeValue): Buffer {
  const id = field === 9 ? key : `${field} ${key}`;
  let byValue = fragments.get(id);
  if (byValue === undefined) {
    byValue = new Map();
    if (fragments.size < MAX_CACHED) fragments.set(id, byValue);
  }
  const known = byValue.get(value);
  if (known !== undefined) return known;
  writeAttribute(scratch, field, key, value);
  const bytes = scratch.take();
  // A key with ever new values, such as a path, must not push the others out or grow without end.
  if (byValue.size < MAX_CACHED) byValue.set(value, bytes);
  return bytes;
}

function writeAttribute(writer: ProtobufWriter, field: number, key: string, value: AttributeValue): void {
  const pair = writer.open(field);
  writer.string(1, key);
  writeValue(writer, 2, value);
  writer.close(pair);
}

function writeValue(writer: ProtobufWriter, field: number, value: AttributeValue | null | undefined): void {
  const any = writer.open(field);
  switch (typeof value) {
    case 'string':
      writer.string(1, value);
      break;
    case 'boolean':
      writer.varint(2, value ? 1 : 0);
      break;
    case 'number':
      if (Number.isSafeInteger(value)) writer.varint(3, value);
      else writer.double(4, value);
      break;
    default:
      if (!Array.isArray(value)) break;
      {
        const list = writer.open(5);
        for (const element of value) writeValue(writer, 1, element);
        writer.close(list);
      }
  }
  writer.close(any);
}
