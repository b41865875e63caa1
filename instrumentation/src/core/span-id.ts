import { type SpanContext, TraceFlags, type TraceState } from '@opentelemetry/api';

const bytes = Buffer.alloc(16);

/** @returns 32 random bits as a signed integer, never 0: no part of an id is all zero. */
export function randomWord(): number {
  return (Math.floor(Math.random() * 0xffff_ffff) + 1) | 0;
}

/** Not put together of pieces: V8 keeps such a text as a tree of them, and whoever reads its characters pays. */
function hexOf(high: number, low: number): string {
  bytes.writeInt32BE(high, 0);
  bytes.writeInt32BE(low, 4);
  return bytes.toString('hex', 0, 8);
}

/** @returns a random span id: 16 hex digits, never all zero. */
export function newSpanId(): string {
  return hexOf(randomWord(), randomWord());
}

/** Who a span is, as 32-bit words: most ids are only ever written in binary, and never read as text. */
export class SpanIdentity implements SpanContext {
  readonly trace0: number;
  readonly trace1: number;
  readonly trace2: number;
  readonly trace3: number;
  readonly high: number;
  readonly low: number;
  traceFlags: number;
  readonly traceState: TraceState | undefined;
  readonly isRemote: boolean;
  #traceId: string | undefined = undefined;
  #spanId: string | undefined = undefined;

  constructor(
    trace0: number,
    trace1: number,
    trace2: number,
    trace3: number,
    high: number,
    low: number,
    traceFlags: number,
    traceState: TraceState | undefined,
    isRemote: boolean,
  ) {
    this.trace0 = trace0;
    this.trace1 = trace1;
    this.trace2 = trace2;
    this.trace3 = trace3;
    this.high = high;
    this.low = low;
    this.traceFlags = traceFlags;
    this.traceState = traceState;
    this.isRemote = isRemote;
  }

  get traceId(): string {
    if (this.#traceId === undefined) {
      bytes.writeInt32BE(this.trace2, 8);
      bytes.writeInt32BE(this.trace3, 12);
      bytes.writeInt32BE(this.trace0, 0);
      bytes.writeInt32BE(this.trace1, 4);
      this.#traceId = bytes.toString('hex', 0, 16);
    }
    return this.#traceId;
  }

  get spanId(): string {
    this.#spanId ??= hexOf(this.high, this.low);
    return this.#spanId;
  }

  /** @returns the same with properties of its own: what a service may copy, spread or log. */
  plain(): SpanContext {
    const { traceId, spanId, traceFlags, traceState } = this;
    return { traceId, spanId, traceFlags, traceState };
  }
}

/** @returns a new identity in the trace of `parent`, or in a new trace. */
export function newIdentity(parent: SpanIdentity | undefined): SpanIdentity {
  if (parent === undefined)
    return new SpanIdentity(
      randomWord(),
      randomWord(),
      randomWord(),
      randomWord(),
      randomWord(),
      randomWord(),
      TraceFlags.NONE,
      undefined,
      false,
    );
  return new SpanIdentity(
    parent.trace0,
    parent.trace1,
    parent.trace2,
    parent.trace3,
    randomWord(),
    randomWord(),
    TraceFlags.NONE,
    parent.traceState,
    false,
  );
}

/** @returns the identity of a new span below `parent`. */
export function childContext(parent: SpanContext): SpanContext {
  if (parent instanceof SpanIdentity) {
    const child = newIdentity(parent);
    child.traceFlags = TraceFlags.SAMPLED;
    return child;
  }
  return {
    traceId: parent.traceId,
    spanId: newSpanId(),
    traceFlags: TraceFlags.SAMPLED,
    traceState: parent.traceState,
  };
}

/** Value of a hex digit by character code; everything else counts as 0. */
const DIGITS = new Uint8Array(128);
for (let value = 0; value < 16; value++) {
  DIGITS[value.toString(16).charCodeAt(0)] = value;
  DIGITS[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

/** @returns eight hex digits of an id as a signed 32-bit integer. */
export function hexWord(text: string, at: number): number {
  let word = 0;
  for (let i = at; i < at + 8; i++) word = (word << 4) | DIGITS[text.charCodeAt(i) & 0x7f];
  return word;
}

/** The trace id that was read last: the spans of a request end one after the other. */
let lastTraceId = '';
let trace0 = 0;
let trace1 = 0;
let trace2 = 0;
let trace3 = 0;

function readTraceId(traceId: string): void {
  lastTraceId = traceId;
  trace0 = hexWord(traceId, 0);
  trace1 = hexWord(traceId, 8);
  trace2 = hexWord(traceId, 16);
  trace3 = hexWord(traceId, 24);
}

/** @returns an identity as words, whoever made it. */
export function identityOf(context: SpanContext): SpanIdentity {
  if (context instanceof SpanIdentity) return context;
  const { traceId, spanId, traceFlags, traceState, isRemote } = context;
  if (traceId !== lastTraceId) readTraceId(traceId);
  return new SpanIdentity(
    trace0,
    trace1,
    trace2,
    trace3,
    hexWord(spanId, 0),
    hexWord(spanId, 8),
    traceFlags,
    traceState,
    isRemote === true,
  );
}

/** A span that knows its identity as words. */
interface Identified {
  readonly identity?: SpanIdentity;
  spanContext(): SpanContext;
}

/** @returns who a span is; as words where the span is one of ours. */
export function contextOfSpan(span: Identified | undefined): SpanContext | undefined {
  return span === undefined ? undefined : (span.identity ?? span.spanContext());
}
