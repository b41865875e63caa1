import type { AttributeValue } from '../model/attributes.ts';
import { KIND, type SpanEvent, STATUS } from '../model/span.ts';
import { kindOf, takeScope, takeStatus, takeText } from './carried-tags.ts';
import type { Collector, Position } from './collector.ts';
import { canonicalId, SPAN_DIGITS } from './ids.ts';
import { isObject, type JsonObject, list, safeInteger, text } from './otlp-values.ts';
import { quote } from './quote.ts';
import { boundedTime, microsToNs, microsToUnixNano, toInteger } from './times.ts';

/**
 * Zipkin v2 JSON spans: https://zipkin.io/zipkin-api/#/default/get_trace__traceId_ . Times in microseconds, the
 * Resource is the local endpoint, client and server may share one span id (`shared`).
 */
export function isZipkinSpan(value: JsonObject): boolean {
  return value.traceId !== undefined && value.id !== undefined;
}

export function readZipkinSpan(span: JsonObject, collector: Collector, at: Position): void {
  const name = text(span.name);
  const ids = collector.ids(span.traceId, span.id, name, at);
  if (ids === null) return;
  if (Array.isArray(span.binaryAnnotations)) {
    collector.reject(at, `span ${quote(name)} is Zipkin v1: export it as v2 (/api/v2/traces)`);
    return;
  }
  const attributes = tagAttributes(span.tags);
  const start = microsToUnixNano(span.timestamp);
  const duration = microsToNs(span.duration);
  const status = takeStatus(attributes);
  // Any `error` tag marks a failed span; its text is the message.
  const failed = status.code === STATUS.unset && attributes.has('error');
  const message = failed ? takeText(attributes, 'error') : status.message;
  addPeer(span.remoteEndpoint, attributes);
  const scope = takeScope(attributes, collector.builder);
  collector.builder.add({
    ...ids,
    parentSpanId: canonicalId(span.parentId, SPAN_DIGITS),
    followsFrom: false,
    shared: span.shared === true,
    name,
    // A local span has no kind.
    kind: span.kind === undefined || span.kind === null ? KIND.internal : kindOf(text(span.kind)),
    startUnixNano: start,
    endUnixNano: start === null || duration === null ? null : boundedTime(start + duration),
    statusCode: failed ? STATUS.error : status.code,
    statusMessage: message,
    traceState: takeText(attributes, 'w3c.tracestate'),
    resource: collector.builder.resource(resourceAttributes(span.localEndpoint)),
    scope,
    attributes,
    links: [],
    events: list(span.annotations).filter(isObject).map(readAnnotation),
  });
}

function resourceAttributes(endpoint: unknown): Map<string, AttributeValue> {
  const attributes = new Map<string, AttributeValue>();
  if (!isObject(endpoint)) return attributes;
  if (endpoint.serviceName !== undefined) attributes.set('service.name', text(endpoint.serviceName));
  const address = text(endpoint.ipv4) || text(endpoint.ipv6);
  if (address !== '') attributes.set('host.ip', address);
  return attributes;
}

/** Tags are text only; Waitfall's own attributes become the numbers and booleans they were. */
function tagAttributes(tags: unknown): Map<string, AttributeValue> {
  const attributes = new Map<string, AttributeValue>();
  if (!isObject(tags)) return attributes;
  for (const key of Object.keys(tags)) {
    const value = text(tags[key]);
    attributes.set(key, key.startsWith('waitfall.') ? typedValue(value) : value);
  }
  return attributes;
}

function typedValue(value: string): AttributeValue {
  if (value === 'true' || value === 'false') return value === 'true';
  if (/^-?\d{1,18}$/.test(value)) return safeInteger(toInteger(value));
  return /^-?\d+\.\d+$/.test(value) ? Number(value) : value;
}

function addPeer(endpoint: unknown, attributes: Map<string, AttributeValue>): void {
  if (!isObject(endpoint)) return;
  const put = (key: string, value: AttributeValue) => {
    if (value !== '' && value !== null && !attributes.has(key)) attributes.set(key, value);
  };
  put('peer.service', text(endpoint.serviceName));
  put('network.peer.address', text(endpoint.ipv4) || text(endpoint.ipv6));
  put('network.peer.port', endpoint.port === undefined ? null : safeInteger(toInteger(endpoint.port)));
}

function readAnnotation(annotation: JsonObject): SpanEvent {
  return {
    timeUnixNano: microsToUnixNano(annotation.timestamp),
    name: text(annotation.value),
    attributes: new Map(),
  };
}
