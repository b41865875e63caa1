import { KIND, type SpanEvent, type SpanLink, STATUS } from '../model/span.ts';
import type { Collector, Position } from './collector.ts';
import { canonicalId, SPAN_DIGITS, TRACE_DIGITS } from './ids.ts';
import { decodeAttributes, field, isObject, type JsonObject, list, text } from './otlp-values.ts';
import { toUnixNano } from './times.ts';

/**
 * OTLP/JSON spans, leniently: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding.
 * Keys in lowerCamelCase or as proto names; enums as numbers or names; ids as hex or base64; the scope lists of
 * OTLP before 0.19 (`instrumentationLibrarySpans`). Unknown fields are ignored; every field is optional but the ids.
 */
export function readResourceSpans(resourceSpans: unknown, collector: Collector, at: Position): void {
  if (!isObject(resourceSpans)) {
    refuse('ResourceSpans', resourceSpans, collector, at);
    return;
  }
  const resource = isObject(resourceSpans.resource) ? resourceSpans.resource.attributes : undefined;
  const resourceIndex = collector.builder.resource(decodeAttributes(resource));
  for (const scopeSpans of scopeLists(resourceSpans))
    readScopeSpans(scopeSpans, resourceIndex, collector, at);
}

/** Old and new key may stand side by side; a span under both is two records, and tree repair drops the copy. */
function scopeLists(resourceSpans: JsonObject): unknown[] {
  return [
    ...list(field(resourceSpans, 'scopeSpans', 'scope_spans')),
    ...list(field(resourceSpans, 'instrumentationLibrarySpans', 'instrumentation_library_spans')),
  ];
}

function readScopeSpans(scopeSpans: unknown, resource: number, collector: Collector, at: Position): void {
  if (!isObject(scopeSpans)) {
    refuse('ScopeSpans', scopeSpans, collector, at);
    return;
  }
  const scope =
    scopeSpans.scope ?? field(scopeSpans, 'instrumentationLibrary', 'instrumentation_library') ?? {};
  const scopeIndex = isObject(scope) ? collector.builder.scope(text(scope.name), text(scope.version)) : 0;
  for (const span of list(scopeSpans.spans)) readSpan(span, resource, scopeIndex, collector, at);
}

function readSpan(span: unknown, resource: number, scope: number, collector: Collector, at: Position): void {
  if (!isObject(span)) {
    refuse('Span', span, collector, at);
    return;
  }
  const name = text(span.name);
  const ids = collector.ids(field(span, 'traceId', 'trace_id'), field(span, 'spanId', 'span_id'), name, at);
  if (ids === null) return;
  const status = decodeStatus(span.status);
  collector.builder.add({
    traceId: ids.traceId,
    spanId: ids.spanId,
    parentSpanId: canonicalId(field(span, 'parentSpanId', 'parent_span_id'), SPAN_DIGITS),
    followsFrom: false,
    shared: false,
    name,
    kind: decodeKind(span.kind),
    startUnixNano: toUnixNano(field(span, 'startTimeUnixNano', 'start_time_unix_nano')),
    endUnixNano: toUnixNano(field(span, 'endTimeUnixNano', 'end_time_unix_nano')),
    statusCode: status.code,
    statusMessage: status.message,
    traceState: text(field(span, 'traceState', 'trace_state')),
    resource,
    scope,
    attributes: decodeAttributes(span.attributes),
    links: decodeLinks(span.links),
    events: decodeEvents(span.events),
  });
}

/** A null holds nothing, so nothing is lost with it. */
export function refuse(what: string, value: unknown, collector: Collector, at: Position): void {
  if (value !== null)
    collector.reject(at, `${what} that is no object but ${Array.isArray(value) ? 'a list' : typeof value}`);
}

/** `SPAN_KIND_SERVER`, `SERVER`, `server`, `2` and 2 are the same; anything else is unspecified. */
export function decodeKind(value: unknown): number {
  return decodeEnum(value, 'SPAN_KIND_', KIND, 5);
}

export function decodeStatus(status: unknown): { code: number; message: string } {
  if (!isObject(status)) return { code: decodeStatusCode(status), message: '' };
  return { code: decodeStatusCode(status.code), message: text(status.message) };
}

/** `STATUS_CODE_ERROR`, `Error`, `2` and 2 are the same; anything else is unset. */
export function decodeStatusCode(value: unknown): number {
  return decodeEnum(value, 'STATUS_CODE_', STATUS, 2);
}

function decodeEnum(
  value: unknown,
  prefix: string,
  names: { readonly [name: string]: number },
  last: number,
) {
  if (typeof value === 'number') return Number.isInteger(value) && value >= 0 && value <= last ? value : 0;
  if (typeof value !== 'string') return 0;
  if (/^\d$/.test(value)) return Number(value) <= last ? Number(value) : 0;
  const upper = value.toUpperCase();
  const name = (upper.startsWith(prefix) ? upper.slice(prefix.length) : upper).toLowerCase();
  return Object.hasOwn(names, name) ? names[name] : 0;
}

export function decodeLinks(value: unknown): SpanLink[] {
  const links: SpanLink[] = [];
  for (const link of list(value)) {
    if (!isObject(link)) continue;
    links.push({
      traceId: canonicalId(field(link, 'traceId', 'trace_id'), TRACE_DIGITS),
      spanId: canonicalId(field(link, 'spanId', 'span_id'), SPAN_DIGITS),
      traceState: text(field(link, 'traceState', 'trace_state')),
      attributes: decodeAttributes(link.attributes),
    });
  }
  return links;
}

export function decodeEvents(value: unknown): SpanEvent[] {
  const events: SpanEvent[] = [];
  for (const event of list(value)) {
    if (!isObject(event)) continue;
    events.push({
      timeUnixNano: toUnixNano(field(event, 'timeUnixNano', 'time_unix_nano')),
      name: text(event.name),
      attributes: decodeAttributes(event.attributes),
    });
  }
  return events;
}
