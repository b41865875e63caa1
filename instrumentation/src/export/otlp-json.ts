import type { Attributes, AttributeValue, HrTime, Link } from '@opentelemetry/api';
import { type ExportableSpan, groupSpans } from './group-spans.ts';
import { encodedOnce } from './shared-attributes.ts';

/** OTLP `SpanFlags`: whether the parent is remote is known / is true. */
const FLAG_HAS_IS_REMOTE = 0x100;
const FLAG_IS_REMOTE = 0x200;

/**
 * @returns one line of OTLP/JSON (an ExportTraceServiceRequest): ids as hex, 64-bit integers as text, enums
 * as numbers. https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
export function encodeLine(spans: readonly ExportableSpan[]): string {
  const resourceSpans: string[] = [];
  for (const { resource, scopes } of groupSpans(spans)) {
    const scopeSpans: string[] = [];
    for (const [scope, list] of scopes) {
      scopeSpans.push(`{"scope":${scopeJson(scope)},"spans":[${list.map(spanJson).join(',')}]}`);
    }
    const attributes = attributesJson(resource.attributes);
    resourceSpans.push(`{"resource":{"attributes":${attributes}},"scopeSpans":[${scopeSpans.join(',')}]}`);
  }
  return `{"resourceSpans":[${resourceSpans.join(',')}]}\n`;
}

function scopeJson(scope: ExportableSpan['instrumentationScope']): string {
  const version = scope.version === undefined ? '' : `,"version":${JSON.stringify(scope.version)}`;
  return `{"name":${JSON.stringify(scope.name)}${version}}`;
}

function spanJson(span: ExportableSpan): string {
  const context = span.spanContext();
  const parent = span.parentSpanContext;
  let flags = context.traceFlags & 0xff;
  let json = `{"traceId":"${context.traceId}","spanId":"${context.spanId}"`;
  const state = context.traceState?.serialize();
  if (state) json += `,"traceState":${JSON.stringify(state)}`;
  if (parent !== undefined && parent.spanId !== '') {
    json += `,"parentSpanId":"${parent.spanId}"`;
    flags |= FLAG_HAS_IS_REMOTE | (parent.isRemote === true ? FLAG_IS_REMOTE : 0);
  }
  json += `,"flags":${flags},"name":${JSON.stringify(span.name)},"kind":${span.kind + 1}`;
  json += `,"startTimeUnixNano":"${unixNano(span.startTime)}","endTimeUnixNano":"${unixNano(span.endTime)}"`;
  const shared = encodedOnce(span.attributes, 'json', () => attributesJson(span.attributes));
  json += `,"attributes":${shared ?? attributesJson(span.attributes)}`;
  if (span.droppedAttributesCount > 0) json += `,"droppedAttributesCount":${span.droppedAttributesCount}`;
  if (span.events.length > 0) json += `,"events":[${span.events.map(eventJson).join(',')}]`;
  if (span.droppedEventsCount > 0) json += `,"droppedEventsCount":${span.droppedEventsCount}`;
  if (span.links.length > 0) json += `,"links":[${span.links.map(linkJson).join(',')}]`;
  if (span.droppedLinksCount > 0) json += `,"droppedLinksCount":${span.droppedLinksCount}`;
  const { code, message } = span.status;
  if (message) json += `,"status":{"code":${code},"message":${JSON.stringify(message)}}}`;
  else json += code === 0 ? ',"status":{}}' : `,"status":{"code":${code}}}`;
  return json;
}

function eventJson(event: ExportableSpan['events'][number]): string {
  const attributes = attributesJson(event.attributes ?? {});
  return `{"timeUnixNano":"${unixNano(event.time)}","name":${JSON.stringify(event.name)},"attributes":${attributes}}`;
}

function linkJson(link: Link): string {
  const { traceId, spanId, traceFlags } = link.context;
  const attributes = attributesJson(link.attributes ?? {});
  return `{"traceId":"${traceId}","spanId":"${spanId}","attributes":${attributes},"flags":${traceFlags & 0xff}}`;
}

function attributesJson(attributes: Attributes): string {
  let json = '[';
  for (const key of Object.keys(attributes)) {
    const value = attributes[key];
    if (value === undefined || value === null) continue;
    if (json.length > 1) json += ',';
    json += `{"key":${quotedKey(key)},"value":${valueJson(value)}}`;
  }
  return `${json}]`;
}

const MAX_KEYS = 2_000;
const quotedKeys = new Map<string, string>();

function quotedKey(key: string): string {
  let quoted = quotedKeys.get(key);
  if (quoted === undefined) {
    quoted = JSON.stringify(key);
    if (quotedKeys.size < MAX_KEYS) quotedKeys.set(key, quoted);
  }
  return quoted;
}

function valueJson(value: AttributeValue | null | undefined): string {
  switch (typeof value) {
    case 'string':
      return `{"stringValue":${JSON.stringify(value)}}`;
    case 'boolean':
      return `{"boolValue":${value}}`;
    case 'number':
      if (Number.isSafeInteger(value)) return `{"intValue":"${value}"}`;
      // JSON has no NaN and no infinities; protobuf's JSON mapping spells them as text.
      return Number.isFinite(value) ? `{"doubleValue":${value}}` : `{"doubleValue":"${value}"}`;
    default:
      if (Array.isArray(value)) return `{"arrayValue":{"values":[${value.map(valueJson).join(',')}]}}`;
      return value === null || value === undefined
        ? '{}'
        : `{"stringValue":${JSON.stringify(String(value))}}`;
  }
}

function unixNano([seconds, nanos]: HrTime): string {
  return seconds === 0 ? String(nanos) : `${seconds}${String(nanos).padStart(9, '0')}`;
}
