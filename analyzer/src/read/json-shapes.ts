import type { Collector, Position } from './collector.ts';
import { isJaegerSpan, isJaegerTrace, readJaegerSpan, readJaegerTrace } from './jaeger.ts';
import { isK6Line, readK6Line } from './k6.ts';
import { readResourceSpans } from './otlp-json.ts';
import { readResourceMetrics } from './otlp-metrics-json.ts';
import { field, isObject, type JsonObject, list, plainValue } from './otlp-values.ts';
import { printable } from './quote.ts';
import { isZipkinSpan, readZipkinSpan } from './zipkin.ts';

/** One JSON format: how a value of it is recognised by its keys, and how it is read. */
interface JsonShape {
  /** For people, in the first lines of a report. */
  readonly name: string;
  readonly matches: (value: JsonObject) => boolean;
  readonly read: (value: JsonObject, collector: Collector, at: Position) => void;
}

/** First match wins. A new JSON format is one file and one line here. */
const SHAPES: readonly JsonShape[] = [
  { name: 'OTLP JSON', matches: isOtlp, read: readOtlp },
  { name: 'OTLP JSON', matches: isResourceSpans, read: readResourceSpans },
  { name: 'OTLP JSON', matches: (value) => hasAny(value, SCOPE_METRICS), read: readResourceMetrics },
  { name: 'OTLP JSON', matches: (value) => hasAny(value, SCOPE_LOGS), read: skipLogs },
  { name: 'OTLP JSON', matches: (value) => hasAny(value, SCOPE_PROFILES), read: skipProfiles },
  { name: 'Tempo JSON', matches: (value) => Array.isArray(value.batches), read: readBatches },
  { name: 'Jaeger JSON', matches: isJaegerTrace, read: readJaegerTrace },
  { name: 'Jaeger JSON', matches: isJaegerSpan, read: readJaegerSpan },
  { name: 'Zipkin JSON', matches: isZipkinSpan, read: readZipkinSpan },
  { name: 'load plan', matches: isLoadPlan, read: readLoadPlan },
  { name: 'k6 results', matches: isK6Line, read: readK6Line },
  { name: 'empty JSON', matches: (value) => Object.keys(value).length === 0, read: () => {} },
];

type Keys = readonly (readonly [camel: string, snake: string])[];

const SPANS: Keys = [['resourceSpans', 'resource_spans']];
const METRICS: Keys = [['resourceMetrics', 'resource_metrics']];
const LOGS: Keys = [['resourceLogs', 'resource_logs']];
const PROFILES: Keys = [['resourceProfiles', 'resource_profiles']];
const SCOPE_SPANS: Keys = [
  ['scopeSpans', 'scope_spans'],
  ['instrumentationLibrarySpans', 'instrumentation_library_spans'],
];
const SCOPE_METRICS: Keys = [
  ['scopeMetrics', 'scope_metrics'],
  ['instrumentationLibraryMetrics', 'instrumentation_library_metrics'],
];
const SCOPE_LOGS: Keys = [['scopeLogs', 'scope_logs']];
const SCOPE_PROFILES: Keys = [['scopeProfiles', 'scope_profiles']];

function hasAny(value: JsonObject, keys: Keys): boolean {
  return keys.some(([camel, snake]) => field(value, camel, snake) !== undefined);
}

/** True for an export request of any signal; a list that is null is an empty one. */
export function isOtlp(value: JsonObject): boolean {
  return [SPANS, METRICS, LOGS, PROFILES].flat().some(([camel, snake]) => camel in value || snake in value);
}

function readOtlp(value: JsonObject, collector: Collector, at: Position): void {
  for (const item of list(field(value, ...SPANS[0]))) readResourceSpans(item, collector, at);
  for (const item of list(field(value, ...METRICS[0]))) readResourceMetrics(item, collector, at);
  if (hasAny(value, LOGS)) skipLogs(value, collector);
  if (hasAny(value, PROFILES)) skipProfiles(value, collector);
}

/** A ResourceSpans without the request around it, as Java's logging exporter writes one a line. */
function isResourceSpans(value: JsonObject): boolean {
  return hasAny(value, SCOPE_SPANS);
}

function readBatches(value: JsonObject, collector: Collector, at: Position): void {
  for (const item of list(value.batches)) readResourceSpans(item, collector, at);
}

/** Counted by message, as they come. */
function skipLogs(_value: JsonObject, collector: Collector): void {
  collector.skip('logs', 1);
}

function skipProfiles(_value: JsonObject, collector: Collector): void {
  collector.skip('profiles', 1);
}

function isLoadPlan(value: JsonObject): boolean {
  return Array.isArray(value.steps) && value.steps.every((step) => isObject(step) && 'startUnixNano' in step);
}

function readLoadPlan(value: JsonObject, collector: Collector): void {
  collector.loadPlan(plainValue(value));
}

/** Envelopes of query APIs and of Elasticsearch; what they hold is looked at in turn. */
const ENVELOPES = ['data', 'result', 'trace', 'traces', '_source'] as const;
const MAX_ENVELOPES = 6;

/** Reads one JSON value of any known format. @returns its name, or null when it is of none. */
export function readJsonValue(value: unknown, collector: Collector, at: Position, depth = 0): string | null {
  if (Array.isArray(value)) return readList(value, collector, at, depth);
  if (!isObject(value)) return null;
  const shape = SHAPES.find((candidate) => candidate.matches(value));
  if (shape !== undefined) {
    shape.read(value, collector, at);
    return shape.name;
  }
  if (depth === MAX_ENVELOPES) return null;
  const hits = isObject(value.hits) ? value.hits.hits : undefined;
  if (Array.isArray(hits)) return readList(hits, collector, at, depth + 1);
  for (const key of ENVELOPES) {
    const inner = value[key];
    if (typeof inner !== 'object' || inner === null) continue;
    const name = readJsonValue(inner, collector, at, depth + 1);
    if (name !== null) return key === 'trace' && name === 'OTLP JSON' ? 'Tempo JSON' : name;
  }
  return null;
}

/** A list is known when one of its elements is; the others are then refused one by one. */
function readList(
  items: readonly unknown[],
  collector: Collector,
  at: Position,
  depth: number,
): string | null {
  if (items.length === 0) return 'empty JSON';
  if (depth === MAX_ENVELOPES) return null;
  let known: string | null = null;
  const unknown: number[] = [];
  items.forEach((item, i) => {
    if (item === null) return;
    const name = readJsonValue(item, collector, at, depth + 1);
    if (name === null) unknown.push(i);
    else if (known === null || known === 'empty JSON') known = name;
  });
  if (known !== null) {
    for (const i of unknown) {
      const reason = `element ${i} of a list: ${unknownReason(items[i])}`;
      collector.reject(at, reason);
    }
  }
  return known ?? (unknown.length === 0 ? 'empty JSON' : null);
}

/** Why a JSON value is not read. */
export function unknownReason(value: unknown): string {
  if (Array.isArray(value)) return 'a list of an unknown format';
  if (typeof value !== 'object' || value === null) return 'a bare value, not an object';
  const keys = Object.keys(value).slice(0, 5).join(', ');
  return `unknown format, first keys: ${printable(keys, 120)}`;
}
