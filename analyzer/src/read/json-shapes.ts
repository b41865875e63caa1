import type { Collector, Position } from './collector.ts';
import { readResourceSpans } from './otlp-json.ts';
import { readResourceMetrics } from './otlp-metrics-json.ts';
import { field, isObject, type JsonObject, list, plainValue } from './otlp-values.ts';

/** One JSON format: how a value of it is recognised, and how it is read. */
export interface JsonShape {
  /** For people, in the report's first lines. */
  readonly name: string;
  readonly matches: (value: JsonObject) => boolean;
  readonly read: (value: JsonObject, collector: Collector, at: Position) => void;
}

/** First match wins. A new JSON format is one file and one line here. */
const SHAPES: readonly JsonShape[] = [{ name: 'OTLP JSON', matches: isOtlp, read: readOtlp }];

function isOtlp(value: JsonObject): boolean {
  return OTLP_KEYS.some(([camel, snake]) => field(value, camel, snake) !== undefined);
}

const OTLP_KEYS = [
  ['resourceSpans', 'resource_spans'],
  ['resourceMetrics', 'resource_metrics'],
  ['resourceLogs', 'resource_logs'],
  ['resourceProfiles', 'resource_profiles'],
] as const;

function readOtlp(value: JsonObject, collector: Collector, at: Position): void {
  for (const item of list(field(value, 'resourceSpans', 'resource_spans')))
    readResourceSpans(item, collector, at);
  for (const item of list(field(value, 'resourceMetrics', 'resource_metrics'))) {
    readResourceMetrics(item, collector, at);
  }
}

/** Reads one JSON value. @returns the name of its format, or null when no format matches. */
export function readJsonValue(value: unknown, collector: Collector, at: Position): string | null {
  if (Array.isArray(value)) {
    let name: string | null = null;
    for (const item of value) if (item !== null) name = readJsonValue(item, collector, at) ?? name;
    return name;
  }
  if (!isObject(value)) return null;
  if (Array.isArray(value.steps)) {
    collector.loadPlan(plainValue(value));
    return 'load plan';
  }
  const shape = SHAPES.find((candidate) => candidate.matches(value));
  if (shape === undefined) return null;
  shape.read(value, collector, at);
  return shape.name;
}
