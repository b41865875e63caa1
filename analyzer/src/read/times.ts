import { decimalToBigInt } from './parse-json.ts';

/** First instant the span table cannot hold: 2^32 seconds, in the year 2106. */
const TOO_LATE = 4_294_967_296_000_000_000n;

/**
 * Splits epoch ns, given as two halves of 32 bits, into seconds and ns, exactly and without a bigint: 2^32 ns are 4 s
 * and 294,967,296 ns, and the upper half is cut at its thousands so that no product passes 2^53.
 * @returns false when the table cannot hold it (after 2106).
 */
export function splitUnixNano(low: number, high: number, into: { sec: number; ns: number }): boolean {
  const thousands = Math.floor(high / 1000);
  const rest = high - thousands * 1000;
  const ns = thousands * 967_296_000 + rest * 294_967_296 + low;
  const carry = Math.floor(ns / 1e9);
  const sec = high * 4 + thousands * 294 + carry;
  if (sec > 0xffffffff) return false;
  into.sec = sec;
  into.ns = ns - carry * 1e9;
  return true;
}

/** @returns the instant, or null when the table cannot hold it (negative, after 2106, unknown). */
export function boundedTime(unixNano: bigint | null): bigint | null {
  return unixNano !== null && unixNano >= 0n && unixNano < TOO_LATE ? unixNano : null;
}

/**
 * @returns epoch ns of an OTLP time: a string, a number, a bigint or protobufjs' `{low, high}`;
 * null when absent, not a number, negative or after 2106. Nothing passes through a double on the way.
 */
export function toUnixNano(value: unknown): bigint | null {
  return boundedTime(toInteger(value));
}

/** @returns epoch ns of a time in microseconds (Jaeger, Zipkin); null as in {@link toUnixNano}. */
export function microsToUnixNano(value: unknown): bigint | null {
  return boundedTime(microsToNs(value));
}

/** @returns ns of a duration or time in microseconds, exactly; null when it is not a number. */
export function microsToNs(value: unknown): bigint | null {
  if (typeof value === 'bigint') return value * 1000n;
  if (typeof value === 'number') return Number.isFinite(value) ? decimalToBigInt(String(value), 3) : null;
  return typeof value === 'string' ? decimalToBigInt(value.trim(), 3) : null;
}

const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** @returns epoch ns of an RFC 3339 timestamp with up to nine decimals; null when the text is none. */
export function timestampToUnixNano(value: string): bigint | null {
  const match = TIMESTAMP.exec(value);
  if (match === null) return null;
  const [, seconds, decimals = '', zone] = match;
  const ms = Date.parse(seconds + zone);
  return Number.isNaN(ms) ? null : boundedTime(BigInt(ms) * 1_000_000n + BigInt(decimals.padEnd(9, '0')));
}

/** @returns a 64-bit integer in any of the spellings of JSON encoders, or null; fractions are cut off. */
export function toInteger(value: unknown): bigint | null {
  switch (typeof value) {
    case 'bigint':
      return value;
    case 'string':
      return decimalToBigInt(value.trim(), 0);
    case 'number':
      return Number.isFinite(value) ? decimalToBigInt(String(value), 0) : null;
    case 'object':
      return value === null ? null : fromHalves(value as { low?: unknown; high?: unknown });
    default:
      return null;
  }
}

/** Two 32-bit halves, each signed or unsigned. */
function fromHalves({ low, high }: { low?: unknown; high?: unknown }): bigint | null {
  if (typeof low !== 'number' || typeof high !== 'number') return null;
  if (!Number.isInteger(low) || !Number.isInteger(high)) return null;
  return (BigInt(high) << 32n) + BigInt(low >>> 0);
}
