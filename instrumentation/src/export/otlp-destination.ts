import { warnOnce } from '../core/warn.ts';
import type { SpanDestination } from '../standalone/provider.ts';
import type { ExportableSpan } from './group-spans.ts';
import { encodeRequest } from './otlp-protobuf.ts';
import type { OtlpSender } from './otlp-sender.ts';

const FLUSH_EVERY_MS = 1_000;
const MAX_BATCH = 1_024;
/** Spans that wait for a slow collector; beyond this, new ones are dropped and counted. */
const MAX_QUEUE = 16_384;

/** Collects spans and sends them in batches, one after the other. */
export class OtlpDestination implements SpanDestination {
  readonly #sender: OtlpSender;
  #queue: ExportableSpan[] = [];
  #sending: Promise<void> = Promise.resolve();
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
    if (this.#queue.length === MAX_BATCH) setImmediate(() => void this.#flush(false));
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.forceFlush();
    }, FLUSH_EVERY_MS).unref();
  }

  forceFlush(): Promise<void> {
    return this.#flush(true);
  }

  /** Sends what is there now, after what is being sent: all of it, or full batches only. */
  #flush(all: boolean): Promise<void> {
    this.#sending = this.#sending.then(() => this.#drain(all));
    return this.#sending;
  }

  async #drain(all: boolean): Promise<void> {
    let left = all ? this.#queue.length : this.#queue.length - (this.#queue.length % MAX_BATCH);
    while (left > 0) {
      const batch = this.#take(Math.min(left, MAX_BATCH));
      left -= batch.length;
      let sent = false;
      try {
        sent = await this.#sender.send(encodeRequest(batch));
      } catch (error) {
        warnOnce('otlp-encode', `a batch of spans could not be encoded: ${String(error)}`);
      }
      if (!sent) this.#dropped += batch.length;
    }
  }

  #take(count: number): ExportableSpan[] {
    if (count < this.#queue.length) return this.#queue.splice(0, count);
    const batch = this.#queue;
    this.#queue = [];
    return batch;
  }
}
