import type { FinishedSpan } from '../core/finished-span.ts';
import type { SpanOrigin } from '../core/lazy-span.ts';
import { warnOnce } from '../core/warn.ts';
import type { SpanDestination } from '../standalone/provider.ts';
import type { RecordedSpan } from '../standalone/recorded-span.ts';
import type { ExportableSpan } from './exportable-span.ts';
import { ProtobufEncoder } from './otlp-protobuf.ts';
import type { OtlpSender } from './otlp-sender.ts';
import { arePending, resourcesReady } from './resource-ready.ts';

const FLUSH_EVERY_MS = 1_000;
const MAX_BATCH = 1_024;
/** A batch that waits for attributes of its resource grows no larger than this. */
const MAX_UNREADY = 8 * MAX_BATCH;
/** Bytes that wait for a slow collector; beyond this, new spans are dropped and counted. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** Encodes spans as they end and sends them in batches, one after the other. */
export class OtlpDestination implements SpanDestination {
  readonly #sender: OtlpSender;
  readonly #encoder = new ProtobufEncoder();
  /** Batches that wait for the one that is being sent, and their length. */
  #waiting: { body: Buffer; spans: number }[] = [];
  #waitingBytes = 0;
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;

  constructor(sender: OtlpSender) {
    this.#sender = sender;
  }

  /** Spans that were never sent: too many waited, or the collector refused them. */
  get dropped(): number {
    return this.#dropped;
  }

  onEnd(span: unknown): void {
    if (this.#isFull()) return;
    try {
      this.#encoder.add(span as ExportableSpan);
    } catch (error) {
      this.#failed(error);
    }
    this.#schedule();
  }

  onFinished(span: FinishedSpan, origin: SpanOrigin): void {
    if (this.#isFull()) return;
    try {
      this.#encoder.addFinished(span, origin);
    } catch (error) {
      this.#failed(error);
    }
    this.#schedule();
  }

  onRecorded(span: RecordedSpan): void {
    if (this.#isFull()) return;
    try {
      this.#encoder.addRecorded(span);
    } catch (error) {
      this.#failed(error);
    }
    this.#schedule();
  }

  /** Sends what is there now, after what is being sent. */
  async forceFlush(): Promise<void> {
    if (this.#encoder.spans > 0) await resourcesReady(this.#encoder.resources);
    this.#seal();
    await this.#drain();
  }

  #isFull(): boolean {
    if (this.#waitingBytes < MAX_WAITING_BYTES) return false;
    this.#dropped++;
    warnOnce('otlp-queue', 'the collector is too slow: spans are being dropped');
    return true;
  }

  #failed(error: unknown): void {
    this.#dropped++;
    warnOnce('otlp-encode', `a span could not be encoded: ${String(error)}`);
  }

  #schedule(): void {
    const { spans } = this.#encoder;
    if (spans >= MAX_BATCH && (spans >= MAX_UNREADY || !arePending(this.#encoder.resources))) {
      this.#seal();
      // Not within the callback of the request that has just ended.
      setImmediate(() => void this.#drain());
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.forceFlush();
    }, FLUSH_EVERY_MS).unref();
  }

  #seal(): void {
    const { spans } = this.#encoder;
    const body = this.#encoder.take();
    if (body === undefined) return;
    this.#waiting.push({ body, spans });
    this.#waitingBytes += body.length;
  }

  /** @returns a promise of everything that waits now. */
  #drain(): Promise<void> {
    if (this.#sending === undefined && this.#waiting.length > 0) this.#sending = this.#sendAll();
    return this.#sending ?? Promise.resolve();
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const sent = await this.#sender.send(next.body).catch(() => false);
      this.#waitingBytes -= next.body.length;
      if (!sent) this.#dropped += next.spans;
    }
    this.#sending = undefined;
  }
}
