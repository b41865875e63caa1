import * as fs from 'node:fs';
import { warnOnce } from '../core/warn.ts';

/** As they were when this was loaded: what they write here is not the work of the request that runs. */
const { close, closeSync, openSync, write, writeSync } = fs;

/** What waits for a slow disk; beyond this, lines are dropped and counted. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

/**
 * Appends lines to a file without ever throwing: written in the background, the rest at exit. Several
 * processes may append to the same file; each write holds whole lines.
 */
export class LineFile {
  readonly #path: string;
  #fd: number | undefined;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #writing: Promise<void> | undefined;
  #failed = false;
  #dropped = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Appends that were not written, because the disk was too slow or the file could not be written. */
  get dropped(): number {
    return this.#dropped;
  }

  /** @param lines whole lines; not changed afterwards. */
  append(lines: Buffer): void {
    if (this.#failed || this.#pendingBytes > MAX_PENDING_BYTES) {
      this.#dropped++;
      if (!this.#failed)
        warnOnce('trace-file-slow', `${this.#path}: the disk is too slow, spans are being dropped`);
      return;
    }
    this.#pending.push(lines);
    this.#pendingBytes += lines.length;
  }

  /** Writes what was appended, in the background. */
  flush(): Promise<void> {
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /** Writes what is left before the process ends. What is being written already is finished by Node itself. */
  flushSync(): void {
    const data = this.#take();
    if (data === undefined) return;
    try {
      const fd = this.#open();
      for (let at = 0; at < data.length; ) at += writeSync(fd, data, at);
    } catch (error) {
      this.#fail(error);
    }
  }

  async close(): Promise<void> {
    await this.flush();
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) await new Promise<void>((resolve) => close(fd, () => resolve()));
  }

  closeSync(): void {
    this.flushSync();
    if (this.#fd !== undefined && this.#writing === undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  async #drain(): Promise<void> {
    for (let data = this.#take(); data !== undefined; data = this.#take()) {
      try {
        const fd = this.#open();
        for (let at = 0; at < data.length; ) at += await writeSome(fd, data, at);
      } catch (error) {
        this.#fail(error);
        return;
      }
    }
  }

  #take(): Buffer | undefined {
    if (this.#pending.length === 0) return undefined;
    const data = this.#pending.length === 1 ? this.#pending[0] : Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    return data;
  }

  #open(): number {
    this.#fd ??= openSync(this.#path, 'a');
    return this.#fd;
  }

  #fail(error: unknown): void {
    this.#failed = true;
    this.#dropped += this.#pending.length + 1;
    this.#pending = [];
    const reason = error instanceof Error ? error.message : String(error);
    warnOnce(
      'trace-file',
      `WAITFALL_TRACE_FILE: cannot write ${this.#path} (${reason}); no spans are written`,
    );
  }
}

function writeSome(fd: number, data: Buffer, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, data, at, data.length - at, null, (error, written) =>
      error ? reject(error) : resolve(written),
    );
  });
}
