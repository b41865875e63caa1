import type { Context } from '@opentelemetry/api';
import type { FinishedSpan } from '../core/finished-span.ts';
import type { SpanOrigin } from '../core/lazy-span.ts';
import type { FinishedSpanProcessor } from '../core/span-processor.ts';
import type { RecordedSpan } from '../standalone/recorded-span.ts';
import type { ExportableSpan } from './exportable-span.ts';
import { LineFile } from './line-file.ts';
import { JsonEncoder } from './otlp-json.ts';
import { resourcesReady } from './resource-ready.ts';

/** What a process that is killed can lose: the spans that ended within this time, and within the turn of the event loop after it. */
const WRITE_EVERY_MS = 200;
const MAX_BATCH = 512;

/**
 * Span processor that writes OTLP/JSON lines to a file of this machine: what `waitfall FILE` reads. Sampled
 * spans only. Nothing it does can throw into the service.
 */
export class FileSpanProcessor implements FinishedSpanProcessor {
  readonly takesFinished = true;
  readonly #file: LineFile;
  readonly #encoder = new JsonEncoder();
  #timer: NodeJS.Timeout | undefined;
  #resourceReady = false;

  constructor(path: string) {
    this.#file = new LineFile(path);
  }

  onStart(_span: unknown, _parentContext: Context): void {}

  onEnd(span: ExportableSpan): void {
    if ((span.spanContext().traceFlags & 1) === 0) return;
    try {
      this.#encoder.add(span);
    } catch {
      // One span that cannot be read must not cost the others.
    }
    this.#schedule();
  }

  onFinished(span: FinishedSpan, origin: SpanOrigin): void {
    try {
      this.#encoder.addFinished(span, origin);
    } catch {
      // As above.
    }
    this.#schedule();
  }

  onRecorded(span: RecordedSpan): void {
    try {
      this.#encoder.addRecorded(span);
    } catch {
      // As above.
    }
    this.#schedule();
  }

  async forceFlush(): Promise<void> {
    await this.#awaitResource();
    this.#append();
    await this.#file.flush();
  }

  /** For the end of the process, where nothing asynchronous runs any more. */
  flushSync(): void {
    this.#append();
    this.#file.flushSync();
  }

  async shutdown(): Promise<void> {
    clearTimeout(this.#timer);
    await this.forceFlush();
    await this.#file.close();
  }

  #schedule(): void {
    if (this.#encoder.spans >= MAX_BATCH && this.#resourceReady) this.#write();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#resourceReady) this.#write();
      else void this.#awaitResource().then(() => this.#write());
    }, WRITE_EVERY_MS).unref();
  }

  #write(): void {
    this.#append();
    this.#file.write();
  }

  #append(): void {
    const lines = this.#encoder.take();
    if (lines !== undefined) this.#file.append(lines);
  }

  async #awaitResource(): Promise<void> {
    if (this.#resourceReady || this.#encoder.spans === 0) return;
    await resourcesReady(this.#encoder.resources);
    this.#resourceReady = true;
  }
}
