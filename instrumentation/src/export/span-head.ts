import type { SpanIdentity } from '../core/span-id.ts';

/** OTLP `SpanFlags`: whether the parent is remote is known / is true. */
const FLAG_HAS_IS_REMOTE = 0x100;
const FLAG_IS_REMOTE = 0x200;

/** What stands at the beginning of a span. */
export interface SpanHead {
  /** A span of its trace. */
  trace: SpanIdentity;
  idHigh: number;
  idLow: number;
  parent: SpanIdentity | undefined;
  name: string;
  /** A fragment with this name follows: where fragments hold names it is not needed here. */
  nameIsFixed: boolean;
  /** As OTLP counts kinds. */
  kind: number;
}

/** @returns the trace state as text, undefined where there is none. */
export function stateOf(context: SpanIdentity): string | undefined {
  return context.traceState === undefined ? undefined : context.traceState.serialize() || undefined;
}

export function flagsOf(context: SpanIdentity, parent: SpanIdentity | undefined): number {
  const flags = context.traceFlags & 0xff;
  if (parent === undefined) return flags;
  return flags | FLAG_HAS_IS_REMOTE | (parent.isRemote ? FLAG_IS_REMOTE : 0);
}
