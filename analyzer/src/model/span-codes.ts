import type { AttributeValue } from './attributes.ts';

/** Bits of {@link SpanTable.flags}. */
export const FLAG = {
  noStart: 1,
  noEnd: 2,
  followsFrom: 4,
  shared: 8,
  /** The span id (parent id) is not hex: its `lo` column is a string id. */
  opaqueId: 16,
  opaqueParent: 32,
  /** The span has no parent: a true root. */
  noParent: 64,
} as const;

/** How an attribute's value is stored in {@link SpanTable.attributeData}. */
export const TYPE = {
  /** String id. */
  string: 0,
  /** The value itself: a whole number below 2^32. */
  uint: 1,
  /** Index into {@link SpanTable.numbers}. */
  number: 2,
  boolean: 3,
  /** String id of its JSON. */
  json: 4,
} as const;

/** JSON with bigint as `{"$int":"…"}`: the pool stores text only. */
export function encodeValue(value: AttributeValue): string {
  return JSON.stringify(value, (_key, v) => (typeof v === 'bigint' ? { $int: v.toString() } : v));
}

export function decodeValue(text: string): AttributeValue {
  return JSON.parse(text, (_key, v) => (isInteger(v) ? BigInt(v.$int) : v));
}

function isInteger(value: unknown): value is { $int: string } {
  if (typeof value !== 'object' || value === null || !('$int' in value)) return false;
  return typeof value.$int === 'string' && /^-?\d+$/.test(value.$int);
}
