import { type Context, createContextKey, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';

/** The key under which the API keeps the active span; see {@link withSpan}. */
const SPAN = createContextKey('OpenTelemetry Context Key SPAN');

/** A context with one more value than another: the API's own copies all values for each one that is set. */
class ContextNode implements Context {
  readonly #below: Context;
  readonly #key: symbol;
  readonly #value: unknown;

  constructor(below: Context, key: symbol, value: unknown) {
    this.#below = below;
    this.#key = key;
    this.#value = value;
  }

  getValue(key: symbol): unknown {
    return key === this.#key ? this.#value : this.#below.getValue(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return new ContextNode(this, key, value);
  }

  deleteValue(key: symbol): Context {
    return new ContextNode(this, key, undefined);
  }
}

/** The key is a name both sides know, not part of the API's contract: where it is another one, the API's way is taken. */
const isKnown = (() => {
  const span = trace.wrapSpanContext({ traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 0 });
  return trace.getSpan(new ContextNode(ROOT_CONTEXT, SPAN, span)) === span;
})();

/** @returns as `trace.setSpan`, a context in which the span is active. */
export function withSpan(below: Context, span: Span): Context {
  return isKnown ? new ContextNode(below, SPAN, span) : trace.setSpan(below, span);
}
