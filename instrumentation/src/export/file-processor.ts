import type { Context } from '@opentelemetry/api';
import type { AnySpanProcessor } from '../core/span-processor.ts';
import type { ExportableSpan } from './group-spans.ts';
import { LineFile } from './line-file.ts';
import { encodeLine } from './otlp-json.ts';

const FLUSH_EVERY_MS = 200;
const MAX_BATCH = 512;
const RESOURCE_WAIT_MS = 1_000;

interface AsyncResource {
  asyncAttributesPending?: boolean;
  waitForAsyncAttributes?(): Promise<void>;
}

/**
 * Span processor that writes OTLP/JSON lines to a file of this machine: what `waitfall FILE` reads. Sampled
 * spans only. Nothing it does can throw into the service.
 */
export class FileSpanProcessor implements AnySpanProcessor {
  readonly #file: LineFile;
  #batch: ExportableSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #resourceReady = false;

  constructor(path: string) {
    this.#file = new LineFile(path);
  }

  onStart(_span: unknown, _parentContext: Context): void {}

  onEnd(span: ExportableSpan): void {
    if ((span.spanContext().traceFlags & 1) === 0) return;
    this.#batch.push(span);
    if (this.#batch.length >= MAX_BATCH && this.#resourceReady) {
      this.#encode();
      void this.#file.flush();
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.forceFlush();
    }, FLUSH_EVERY_MS).unref();
  }

  async forceFlush(): Promise<void> {
    await this.#awaitResource();
    this.#encode();
    await this.#file.flush();
  }

  /** For the end of the process, where nothing asynchronous runs any more. */
  flushSync(): void {
    this.#encode();
    this.#file.flushSync();
  }

  async shutdown(): Promise<void> {
    clearTimeout(this.#timer);
    await this.forceFlush();
    await this.#file.close();
  }

  #encode(): void {
    if (this.#batch.length === 0) return;
    const spans = this.#batch;
    this.#batch = [];
    try {
      this.#file.append(encodeLine(spans));
    } catch {
      // One span that cannot be read must not cost the others.
      for (const span of spans) {
        try {
          this.#file.append(encodeLine([span]));
        } catch {}
      }
    }
  }

  /** Detectors may still be looking for host attributes when the first spans end. */
  async #awaitResource(): Promise<void> {
    if (this.#resourceReady || this.#batch.length === 0) return;
    const resource = this.#batch[0].resource as AsyncResource;
    if (resource.asyncAttributesPending === true && resource.waitForAsyncAttributes !== undefined) {
      const giveUp = new Promise((resolve) => setTimeout(resolve, RESOURCE_WAIT_MS).unref());
      await Promise.race([resource.waitForAsyncAttributes().catch(() => {}), giveUp]);
    }
    this.#resourceReady = true;
  }
}
