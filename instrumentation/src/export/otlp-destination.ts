import { warnOnce } from '../core/warn.ts';
import type { SpanDestination } from '../standalone/provider.ts';
import type { ExportableSpan } from './otlp-json.ts';
import { encodeRequest } from './otlp-protobuf.ts';
import type { OtlpSender } from './otlp-sender.ts';

const FLUSH_EVERY_MS = 1_000;
const MAX_BATCH = 512;
/** Spans that wait for a slow collector; beyond this, new ones are dropped and counted. */
const MAX_QUEUE = 16_384;

/** Collects spans and sends them in batches, one after the other. */
export class OtlpDestination implements SpanDestination {
  readonly #sender: OtlpSender;
  #queue: ExportableSpan[] = [];
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;

  constructor(sender: OtlpSender) {
    this.#sender = sender;
  }

  /** Spans that were never sent: the queue was full, or the collector refused them. */
  get dropped(): number {
    return this.#dropped;
  }

  onEnd(span: unknown): void {
    if (this.#queue.length >= MAX_QUEUE) {
      this.#dropped++;
      warnOnce('otlp-queue', 'the collector is too slow: spans are being dropped');
      return;
    }
    this.#queue.push(span as ExportableSpan);
    if (this.#queue.length === MAX_BATCH) setImmediate(() => void this.forceFlush());
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.forceFlush();
    }, FLUSH_EVERY_MS).unref();
  }

  forceFlush(): Promise<void> {
    this.#sending ??= this.#drain().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.length > MAX_BATCH ? this.#queue.splice(0, MAX_BATCH) : this.#queue;
      if (batch === this.#queue) this.#queue = [];
      let sent = false;
      try {
        sent = await this.#sender.send(encodeRequest(batch));
      } catch (error) {
        warnOnce('otlp-encode', `a batch of spans could not be encoded: ${String(error)}`);
      }
      if (!sent) this.#dropped += batch.length;
    }
  }
}
