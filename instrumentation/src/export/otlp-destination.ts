import { FinishedSpan } from '../core/finished-span.ts';
import type { SpanOrigin } from '../core/lazy-span.ts';
import { warnOnce } from '../core/warn.ts';
import type { SpanDestination } from '../standalone/provider.ts';
import { RecordedSpan } from '../standalone/recorded-span.ts';
import type { ExportableSpan } from './exportable-span.ts';
import { ProtobufEncoder } from './otlp-protobuf.ts';
import type { OtlpSender } from './otlp-sender.ts';
import { arePending, resourcesReady } from './resource-ready.ts';
import type { Taken } from './span-encoder.ts';

const FLUSH_EVERY_MS = 1_000;
const MAX_BATCH = 1_024;
/**
 * So many spans are encoded in one go: one after the other they find the code, and what it reads, in the processor's
 * caches. Few, so that hardly any of them is alive when the garbage collector comes.
 */
const ENCODE_AT = 64;
/** Code that makes spans without ever returning to the event loop has them encoded in between. */
const MAX_UNENCODED = 1_024;
/** A batch that waits for attributes of its resource grows no larger than this. */
const MAX_UNREADY = 8 * MAX_BATCH;
/** Bytes that wait for a slow collector; beyond this, new spans are dropped and counted. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

type Ended = FinishedSpan | RecordedSpan | ExportableSpan;

/** Encodes spans soon after they have ended and sends them in batches, one after the other. */
export class OtlpDestination implements SpanDestination {
  readonly #sender: OtlpSender;
  readonly #encoder = new ProtobufEncoder();
  /** Spans that have ended since the last encoding, and where those of ours come from. */
  #ended: Ended[] = [];
  #origins: (SpanOrigin | undefined)[] = [];
  /** Batches that wait for the one that is being sent, and their length. */
  #waiting: Taken[] = [];
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
    this.#add(span as ExportableSpan, undefined);
  }

  onFinished(span: FinishedSpan, origin: SpanOrigin): void {
    this.#add(span, origin);
  }

  onRecorded(span: RecordedSpan): void {
    this.#add(span, undefined);
  }

  /** Sends what is there now, after what is being sent. */
  async forceFlush(): Promise<void> {
    this.#encode();
    if (this.#encoder.spans > 0) await resourcesReady(this.#encoder.resources);
    this.#seal();
    await this.#drain();
  }

  #add(span: Ended, origin: SpanOrigin | undefined): void {
    if (this.#isFull()) return;
    const count = this.#ended.push(span);
    this.#origins.push(origin);
    if (count === ENCODE_AT) setImmediate(this.#encodeLater).unref();
    else if (count >= MAX_UNENCODED) this.#encode();
    this.#timer ??= setTimeout(this.#flushLater, FLUSH_EVERY_MS).unref();
  }

  /** Not within the callback of the request that has just ended. */
  readonly #encodeLater = (): void => this.#encode();

  readonly #flushLater = (): void => {
    this.#timer = undefined;
    void this.forceFlush();
  };

  #encode(): void {
    const ended = this.#ended;
    if (ended.length === 0) return;
    const origins = this.#origins;
    this.#ended = [];
    this.#origins = [];
    const encoder = this.#encoder;
    for (let at = 0; at < ended.length; at++) {
      const span = ended[at];
      try {
        if (span instanceof FinishedSpan) encoder.addFinished(span, origins[at]!);
        else if (span instanceof RecordedSpan) encoder.addRecorded(span);
        else encoder.add(span);
      } catch (error) {
        this.#failed(error);
      }
    }
    const { spans } = encoder;
    if (spans < MAX_BATCH || (spans < MAX_UNREADY && arePending(encoder.resources))) return;
    this.#seal();
    setImmediate(this.#drainLater);
  }

  readonly #drainLater = (): void => void this.#drain();

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

  #seal(): void {
    const taken = this.#encoder.takeParts();
    if (taken === undefined) return;
    this.#waiting.push(taken);
    this.#waitingBytes += lengthOf(taken);
  }

  /** @returns a promise of everything that waits now. */
  #drain(): Promise<void> {
    if (this.#sending === undefined && this.#waiting.length > 0) this.#sending = this.#sendAll();
    return this.#sending ?? Promise.resolve();
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const sent = await this.#sender.send(next.parts).catch(() => false);
      this.#waitingBytes -= lengthOf(next);
      // What was refused may not have left yet.
      if (sent) this.#encoder.giveBack(next);
      else this.#dropped += next.spans;
    }
    this.#sending = undefined;
  }
}

function lengthOf({ parts }: Taken): number {
  return parts.reduce((length, part) => length + part.length, 0);
}
