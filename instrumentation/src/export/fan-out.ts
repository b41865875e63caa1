import type { Context } from '@opentelemetry/api';
import type { FinishedSpan } from '../core/finished-span.ts';
import type { SpanOrigin } from '../core/lazy-span.ts';
import { childContext } from '../core/span-id.ts';
import { type AnySpanProcessor, type FinishedSpanProcessor, passFinished } from '../core/span-processor.ts';

/**
 * Several destinations as one processor. Our finished spans have one way out, the processor that stands before the
 * exporting one: a second one beside it would never see them.
 */
export class FanOutProcessor implements FinishedSpanProcessor {
  readonly takesFinished = true;
  readonly #next: readonly AnySpanProcessor[];

  constructor(next: readonly AnySpanProcessor[]) {
    this.#next = next;
  }

  onStart(span: unknown, parentContext: Context): void {
    for (const next of this.#next) next.onStart(span, parentContext);
  }

  onEnding(span: unknown): void {
    for (const next of this.#next) next.onEnding?.(span);
  }

  onEnd(span: unknown): void {
    for (const next of this.#next) next.onEnd(span);
  }

  onFinished(span: FinishedSpan, origin: SpanOrigin): void {
    // All of them see the same identity.
    span.context ??= childContext(span.parent);
    for (const next of this.#next) passFinished(next, span, origin);
  }

  async forceFlush(): Promise<void> {
    await Promise.all(this.#next.map((next) => next.forceFlush()));
  }

  async shutdown(): Promise<void> {
    await Promise.all(this.#next.map((next) => next.shutdown()));
  }
}
