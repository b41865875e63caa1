import type { Context } from '@opentelemetry/api';
import type { FinishedSpan } from '../core/finished-span.ts';
import type { SpanOrigin } from '../core/lazy-span.ts';
import type { FinishedSpanProcessor } from '../core/span-processor.ts';
import type { ExportableSpan } from './exportable-span.ts';
import { OtlpDestination } from './otlp-destination.ts';
import { OtlpSender, otlpTargetFromEnv } from './otlp-sender.ts';

/**
 * Exporting span processor for an SDK: OTLP over HTTP as protobuf, to where the `OTEL_EXPORTER_OTLP_*` variables
 * say, `http://localhost:4318` by default. Spans are encoded the moment they end, at a fraction of the cost of a
 * batch processor with the official exporter. Sampled spans only.
 */
export class OtlpSpanProcessor implements FinishedSpanProcessor {
  readonly takesFinished = true;
  readonly #destination: OtlpDestination;

  /** @param url where to send, instead of what the variables say; with its path. */
  constructor(options: { url?: string } = {}) {
    const env =
      options.url === undefined
        ? { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', ...process.env }
        : { ...process.env, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: options.url };
    const target = otlpTargetFromEnv(env);
    if (target === undefined) throw new TypeError(`OtlpSpanProcessor: not a URL: ${options.url}`);
    this.#destination = new OtlpDestination(new OtlpSender(target));
  }

  /** Spans that were never sent: too many waited, or the collector refused them. */
  get dropped(): number {
    return this.#destination.dropped;
  }

  onStart(_span: unknown, _parentContext: Context): void {}

  onEnd(span: ExportableSpan): void {
    if ((span.spanContext().traceFlags & 1) !== 0) this.#destination.onEnd(span);
  }

  onFinished(span: FinishedSpan, origin: SpanOrigin): void {
    this.#destination.onFinished(span, origin);
  }

  forceFlush(): Promise<void> {
    return this.#destination.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#destination.forceFlush();
  }
}
