import type { AttributeValue } from '../model/attributes.ts';
import type { SpanEvent, SpanLink } from '../model/span.ts';
import { kindOf, takeScope, takeStatus, takeText } from './carried-tags.ts';
import type { Collector, Position } from './collector.ts';
import { canonicalId, SPAN_DIGITS, TRACE_DIGITS } from './ids.ts';
import { refuse } from './otlp-json.ts';
import { isObject, type JsonObject, list, plainValue, safeInteger, text } from './otlp-values.ts';
import { decimalToBigInt } from './parse-json.ts';
import { boundedTime, microsToNs, microsToUnixNano, timestampToUnixNano, toInteger } from './times.ts';

/**
 * Jaeger's JSON as its query API, its UI and its Elasticsearch storage write it: times in microseconds, the parent
 * in `references` (or `parentSpanID`), the Resource as a process, named by `processID` or inline. The JSON form of its
 * gRPC model (`traceId` in base64, timestamps, `vType`) is read too.
 * https://www.jaegertracing.io/docs/latest/apis/ ; tag names as in
 * https://opentelemetry.io/docs/specs/otel/trace/sdk_exporters/jaeger/.
 */
export function isJaegerTrace(value: JsonObject): boolean {
  if (!Array.isArray(value.spans)) return false;
  const [first] = value.spans;
  return (
    value.traceID !== undefined || value.processes !== undefined || (isObject(first) && isJaegerSpan(first))
  );
}

export function isJaegerSpan(value: JsonObject): boolean {
  if (value.traceID !== undefined && value.spanID !== undefined) return true;
  return value.operationName !== undefined && value.spanId !== undefined;
}

/**
 * One trace, or a part of one too large to hold: then the processes may come with a later part, and spans wait for
 * the name of theirs.
 */
export function readJaegerTrace(trace: JsonObject, collector: Collector, at: Position): void {
  const { builder } = collector;
  const processes = isObject(trace.processes) ? trace.processes : null;
  const resources = new Map<unknown, number>();
  for (const span of list(trace.spans)) {
    if (!isObject(span)) {
      refuse('Span', span, collector, at);
      continue;
    }
    const traceId = traceIdOf(span) ?? trace.traceID;
    const id = text(span.processID);
    const process = span.process ?? processes?.[id];
    let resource = resources.get(process);
    if (resource === undefined) {
      resource = builder.resource(resourceAttributes(process));
      resources.set(process, resource);
    }
    const row = builder.length;
    readSpan(span, traceId, resource, collector, at);
    if (process === undefined && processes === null && builder.length > row) {
      collector.awaitProcess(text(traceId), id, row);
    }
    if (processes !== null) {
      for (const [name, rows] of collector.awaited(text(traceId))) {
        const named = builder.resource(resourceAttributes(processes[name]));
        for (const waiting of rows) builder.columns.resource[waiting] = named;
      }
    }
  }
}

export function readJaegerSpan(span: JsonObject, collector: Collector, at: Position): void {
  readSpan(
    span,
    traceIdOf(span),
    collector.builder.resource(resourceAttributes(span.process)),
    collector,
    at,
  );
}

function resourceAttributes(process: unknown): Map<string, AttributeValue> {
  const attributes = new Map<string, AttributeValue>();
  if (!isObject(process)) return attributes;
  if (process.serviceName !== undefined) attributes.set('service.name', text(process.serviceName));
  for (const [key, value] of tagsOf(process)) if (key !== 'service.name') attributes.set(key, value);
  return attributes;
}

function readSpan(
  span: JsonObject,
  trace: unknown,
  resource: number,
  collector: Collector,
  at: Position,
): void {
  const name = text(span.operationName);
  const ids = collector.ids(trace, spanIdOf(span), name, at);
  if (ids === null) return;
  const tags = tagsOf(span);
  const { parentSpanId, followsFrom, links } = references(span, ids.traceId);
  const start = timeOf(span.startTime);
  const duration = durationOf(span.duration);
  const status = takeStatus(tags);
  const scope = takeScope(tags, collector.builder);
  collector.builder.add({
    ...ids,
    parentSpanId,
    followsFrom,
    shared: false,
    name,
    kind: kindOf(takeText(tags, 'span.kind')),
    startUnixNano: start,
    endUnixNano: start === null || duration === null ? null : boundedTime(start + duration),
    statusCode: status.code,
    statusMessage: status.message,
    traceState: takeText(tags, 'w3c.tracestate'),
    resource,
    scope,
    attributes: tags,
    links,
    events: list(span.logs).filter(isObject).map(readLog),
  });
}

function traceIdOf(value: JsonObject): unknown {
  return value.traceID ?? value.traceId;
}

function spanIdOf(value: JsonObject): unknown {
  return value.spanID ?? value.spanId;
}

/** Microseconds, or a timestamp. */
function timeOf(value: unknown): bigint | null {
  return typeof value === 'string' && value.includes('T')
    ? timestampToUnixNano(value)
    : microsToUnixNano(value);
}

/** Microseconds, or seconds as protobuf's `Duration` is written (`0.0015s`). */
function durationOf(value: unknown): bigint | null {
  return typeof value === 'string' && value.endsWith('s')
    ? decimalToBigInt(value.slice(0, -1), 9)
    : microsToNs(value);
}

/** CHILD_OF wins over FOLLOWS_FROM wherever it stands; a reference into another trace is a link, never a parent. */
function references(span: JsonObject, traceId: string) {
  let childOf = '';
  let follows = '';
  const links: SpanLink[] = [];
  for (const reference of list(span.references)) {
    if (!isObject(reference)) continue;
    const spanId = canonicalId(spanIdOf(reference), SPAN_DIGITS);
    const target = canonicalId(traceIdOf(reference) ?? traceId, TRACE_DIGITS);
    if (spanId === '') continue;
    const inTrace = target === traceId;
    const followed = reference.refType === 'FOLLOWS_FROM' || reference.refType === 1;
    if (inTrace && !followed && childOf === '') childOf = spanId;
    else if (inTrace && followed && follows === '') follows = spanId;
    else links.push({ traceId: target, spanId, traceState: '', attributes: new Map() });
  }
  if (childOf === '') childOf = canonicalId(span.parentSpanID, SPAN_DIGITS);
  if (childOf !== '' && follows !== '') {
    links.push({ traceId, spanId: follows, traceState: '', attributes: new Map() });
  }
  return { parentSpanId: childOf || follows, followsFrom: childOf === '' && follows !== '', links };
}

/** `tags` is a list of typed values; Elasticsearch may hold them in `tag`, an object with dots written as `@`. */
function tagsOf(holder: JsonObject): Map<string, AttributeValue> {
  const tags = new Map<string, AttributeValue>();
  for (const tag of list(holder.tags)) {
    if (isObject(tag) && tag.key !== undefined) tags.set(text(tag.key), tagValue(tag));
  }
  const flat = isObject(holder.tag) ? holder.tag : isObject(holder.tags) ? holder.tags : {};
  for (const key of Object.keys(flat)) tags.set(key.replaceAll('@', '.'), plainValue(flat[key]));
  return tags;
}

function tagValue(tag: JsonObject): AttributeValue {
  switch (tag.type) {
    case 'bool':
      return tag.value === true || tag.value === 'true';
    case 'int64':
      return safeInteger(toInteger(tag.value));
    case 'float64':
      return Number(tag.value);
    case 'binary':
      return { bytes: text(tag.value) };
    case 'string':
      return text(tag.value);
    default:
      return tag.value === undefined ? modelValue(tag) : plainValue(tag.value);
  }
}

/** The gRPC model names the type in `vType` and leaves zero values out. */
function modelValue(tag: JsonObject): AttributeValue {
  switch (tag.vType) {
    case 'BOOL':
      return tag.vBool === true;
    case 'INT64':
      return safeInteger(toInteger(tag.vInt64 ?? 0));
    case 'FLOAT64':
      return Number(tag.vFloat64 ?? 0);
    case 'BINARY':
      return { bytes: text(tag.vBinary) };
    default:
      return text(tag.vStr);
  }
}

function readLog(log: JsonObject): SpanEvent {
  const attributes = tagsOf({ tags: log.fields });
  const name = takeText(attributes, 'event');
  return { timeUnixNano: timeOf(log.timestamp), name, attributes };
}
