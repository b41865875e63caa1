import type { Attributes, AttributeValue, Link } from '@opentelemetry/api';
import { type ExportableSpan, groupSpans } from './group-spans.ts';
import { ProtobufWriter } from './protobuf-writer.ts';
import { encodedOnce } from './shared-attributes.ts';

/** OTLP `SpanFlags`: whether the parent is remote is known / is true. */
const FLAG_HAS_IS_REMOTE = 0x100;
const FLAG_IS_REMOTE = 0x200;
const MAX_CACHED = 2_000;
/** Longer texts are not worth a place in the cache. */
const MAX_CACHED_LENGTH = 256;

/** Encoded attributes by field, key and value: routes, resources and segment names repeat in every request. */
const fragments = new Map<string, Map<AttributeValue, Buffer>>();
const scratch = new ProtobufWriter();
const writer = new ProtobufWriter();

/**
 * @returns an ExportTraceServiceRequest in protobuf. Field numbers are those of
 * https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
 */
export function encodeRequest(spans: readonly ExportableSpan[]): Buffer {
  // What a span that could not be encoded has left behind is not part of this request.
  writer.clear();
  const parts: Buffer[] = [];
  for (const { resource, scopes: groups } of groupSpans(spans)) {
    // Each span is a message of its own length; the two around them may be larger than a writer's message.
    const scopes: Buffer[] = [];
    for (const [{ name, version }, list] of groups) {
      const scope = writer.open(1);
      writer.string(1, name);
      if (version) writer.string(2, version);
      writer.close(scope);
      for (const span of list) writeSpan(span);
      scopes.push(delimited(2, writer.take()));
    }
    const own = writer.open(1);
    writeAttributes(1, resource.attributes);
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

function writeSpan(span: ExportableSpan): void {
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
  const shared = encodedOnce(span.attributes, 'protobuf', () => encodedAttributes(9, span.attributes));
  if (shared !== undefined) writer.bytes(shared);
  else writeAttributes(9, span.attributes);
  if (span.droppedAttributesCount > 0) writer.varint(10, span.droppedAttributesCount);
  for (const event of span.events) {
    const part = writer.open(11);
    writer.time(1, event.time);
    writer.string(2, event.name);
    writeAttributes(3, event.attributes ?? {});
    writer.close(part);
  }
  if (span.droppedEventsCount > 0) writer.varint(12, span.droppedEventsCount);
  for (const link of span.links) writeLink(link);
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

function writeLink(link: Link): void {
  const part = writer.open(13);
  writer.hex(1, link.context.traceId);
  writer.hex(2, link.context.spanId);
  writeAttributes(4, link.attributes ?? {});
  writer.fixed32(6, link.context.traceFlags & 0xff);
  writer.close(part);
}

function writeAttributes(field: number, attributes: Attributes): void {
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined || value === null) continue;
    const known = isRepeated(key, value) ? fragment(field, key, value) : undefined;
    if (known !== undefined) writer.bytes(known);
    else writeAttribute(writer, field, key, value);
  }
}

function encodedAttributes(field: number, attributes: Attributes): Buffer {
  const own = new ProtobufWriter();
  for (const key of Object.keys(attributes)) {
    const value = attributes[key];
    if (value !== undefined && value !== null) writeAttribute(own, field, key, value);
  }
  return own.take();
}

/** Values that are new in almost every span: not worth a place in the cache. */
const UNIQUE = new Set([
  'url.path',
  'url.query',
  'network.peer.port',
  'waitfall.lock.key',
  'waitfall.server.received_unix_nano',
]);

function isRepeated(key: string, value: AttributeValue): boolean {
  if (typeof value === 'string') return value.length <= MAX_CACHED_LENGTH && !UNIQUE.has(key);
  if (typeof value === 'boolean') return true;
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 1_000;
}

/** @returns the encoded attribute, or undefined where the cache has no room for another value of the key. */
function fragment(field: number, key: string, value: AttributeValue): Buffer | undefined {
  // Span attributes are by far the most; other fields have a name of their own in the cache.
  const id = field === 9 ? key : `${field} ${key}`;
  let byValue = fragments.get(id);
  if (byValue === undefined) {
    if (fragments.size >= MAX_CACHED) return undefined;
    byValue = new Map();
    fragments.set(id, byValue);
  }
  const known = byValue.get(value);
  if (known !== undefined || byValue.size >= MAX_CACHED) return known;
  writeAttribute(scratch, field, key, value);
  const bytes = scratch.take();
  byValue.set(value, bytes);
  return bytes;
}

function writeAttribute(to: ProtobufWriter, field: number, key: string, value: AttributeValue): void {
  const pair = to.open(field);
  to.string(1, key);
  writeValue(to, 2, value);
  to.close(pair);
}

function writeValue(to: ProtobufWriter, field: number, value: AttributeValue | null | undefined): void {
  const any = to.open(field);
  switch (typeof value) {
    case 'string':
      to.string(1, value);
      break;
    case 'boolean':
      to.varint(2, value ? 1 : 0);
      break;
    case 'number':
      if (Number.isSafeInteger(value)) to.varint(3, value);
      else to.double(4, value);
      break;
    default:
      if (!Array.isArray(value)) break;
      {
        const list = to.open(5);
        for (const element of value) writeValue(to, 1, element);
        to.close(list);
      }
  }
  to.close(any);
}
