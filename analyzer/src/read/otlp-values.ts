import type { AttributeValue } from '../model/attributes.ts';
import { toInteger } from './times.ts';

export type JsonObject = { readonly [key: string]: unknown };

/** Values nested deeper than this are cut: no instrumentation writes them, and recursion must end. */
const MAX_DEPTH = 32;
const TOO_DEEP = '(nested deeper than 32 levels)';

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @returns the array, or an empty one when the field is absent, null or something else. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** @returns the text of a field; numbers and booleans as their text, anything else empty. */
export function text(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
    ? String(value)
    : '';
}

/** @returns a field under its lowerCamelCase name, else under its proto name. */
export function field(object: JsonObject, camel: string, snake: string): unknown {
  return object[camel] ?? object[snake];
}

/** @returns OTLP `KeyValue` entries, or the members of a plain object, which some exporters write instead. */
export function decodeAttributes(value: unknown): Map<string, AttributeValue> {
  const attributes = new Map<string, AttributeValue>();
  if (Array.isArray(value)) {
    for (const entry of value) {
      if (!isObject(entry) || entry.key === undefined) continue;
      setLast(attributes, text(entry.key), decodeAnyValue(entry.value, 0));
    }
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) setLast(attributes, key, decodeAnyValue(value[key], 0));
  }
  return attributes;
}

/** A later value of the same key wins and takes the later place. */
function setLast(attributes: Map<string, AttributeValue>, key: string, value: AttributeValue): void {
  if (attributes.has(key)) attributes.delete(key);
  attributes.set(key, value);
}

/** @returns an OTLP `AnyValue`; a bare value of a lax exporter as itself. */
export function decodeAnyValue(value: unknown, depth: number): AttributeValue {
  if (depth > MAX_DEPTH) return TOO_DEEP;
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.map((item) => decodeAnyValue(item, depth + 1));
  if (typeof value !== 'object') return value as AttributeValue;
  const any = value as JsonObject;
  for (const key in any) {
    const inner = any[key];
    switch (key) {
      case 'stringValue':
      case 'string_value':
        return text(inner);
      case 'boolValue':
      case 'bool_value':
        return inner === true || inner === 'true';
      case 'intValue':
      case 'int_value':
        return safeInteger(toInteger(inner));
      case 'doubleValue':
      case 'double_value':
        return inner === null ? null : Number(inner);
      case 'bytesValue':
      case 'bytes_value':
        return { bytes: text(inner) };
      case 'arrayValue':
      case 'array_value':
        return isObject(inner) ? list(inner.values).map((item) => decodeAnyValue(item, depth + 1)) : [];
      case 'kvlistValue':
      case 'kvlist_value':
        return isObject(inner) ? keyValueObject(list(inner.values), depth + 1) : {};
      default:
    }
  }
  return Object.keys(any).length === 0 ? null : plainObject(any, depth + 1);
}

/** @returns a number where that is exact, else the bigint. */
export function safeInteger(value: bigint | null): number | bigint | null {
  if (value === null) return null;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** @returns plain JSON as an attribute value (load plans, lax attribute values). */
export function plainValue(value: unknown, depth = 0): AttributeValue {
  if (depth > MAX_DEPTH) return TOO_DEEP;
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.map((item) => plainValue(item, depth + 1));
  return typeof value === 'object' ? plainObject(value as JsonObject, depth + 1) : (value as AttributeValue);
}

function plainObject(value: JsonObject, depth: number): AttributeValue {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plainValue(item, depth)]));
}

function keyValueObject(entries: readonly unknown[], depth: number): AttributeValue {
  const members: [string, AttributeValue][] = [];
  for (const entry of entries) {
    if (isObject(entry)) members.push([text(entry.key), decodeAnyValue(entry.value, depth)]);
  }
  return Object.fromEntries(members);
}
