import { type SpanContext, TraceFlags } from '@opentelemetry/api';

const HEX16 = Array.from({ length: 0x10000 }, (_, value) => value.toString(16).padStart(4, '0'));

/** @returns 32 random bits as a signed integer, never 0: no part of an id is all zero. */
export function randomWord(): number {
  return (Math.floor(Math.random() * 0xffff_ffff) + 1) | 0;
}

/** @returns a random span id: 16 hex digits, never all zero. */
export function newSpanId(): string {
  const high = randomWord();
  const low = randomWord();
  return HEX16[high >>> 16] + HEX16[high & 0xffff] + HEX16[low >>> 16] + HEX16[low & 0xffff];
}

/** @returns a random trace id: 32 hex digits. */
export function newTraceId(): string {
  return newSpanId() + newSpanId();
}

/** @returns the identity of a new span below `parent`. */
export function childContext(parent: SpanContext): SpanContext {
  return {
    traceId: parent.traceId,
    spanId: newSpanId(),
    traceFlags: TraceFlags.SAMPLED,
    traceState: parent.traceState,
  };
}
