import * as fs from 'node:fs';
import { warnOnce } from '../core/warn.ts';

/** As they were when this was loaded: what they write here is not the work of the request that runs. */
const { closeSync, constants, openSync, writeSync } = fs;

/** What waits for a slow disk; beyond this, lines are dropped and counted. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024;
/** Written in one turn of the event loop; what is more waits for the next turn. */
const MAX_TURN_BYTES = 256 * 1024;
/** After a write nothing is written for this many times as long: at most a twenty-first of the time goes into writing. */
const REST = 20;
/** A pipe that nobody empties is tried again after this long, … */
const RETRY_MS = 20;
/** … and given up after this long where somebody waits for it. */
const GIVE_UP_MS = 1_000;
/** A pipe without room, or without a reader, says so instead of holding up the process; files know no difference. */
const FLAGS =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? /* Windows */ 0);

/**
 * Appends lines to a file without ever throwing. It writes from the event loop itself, into the memory of the kernel,
 * and never through libuv's threads: a service that has none left to give is what these files are to tell of. Several
 * processes may append to the same file; each write holds whole lines.
 */
export class LineFile {
  readonly #path: string;
  readonly #subject: string;
  #fd: number | undefined;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #restUntilMs = 0;
  #later: NodeJS.Timeout | undefined;
  #failed = false;
  #dropped = 0;

  /** @param subject what is being written, for messages: the setting that asked for it. */
  constructor(path: string, subject = 'WAITFALL_TRACE_FILE') {
    this.#path = path;
    this.#subject = subject;
  }

  /** Appends that were not written, because the disk was too slow or the file could not be written. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Whether the file cannot be written; that was said. */
  get failed(): boolean {
    return this.#failed;
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

  /** Writes what was appended: now, or a moment later where writing has taken too much of the time. */
  write(): void {
    const now = performance.now();
    if (now < this.#restUntilMs) {
      this.#writeIn(this.#restUntilMs - now);
      return;
    }
    const couldWrite = this.#writeTurn();
    const tookMs = performance.now() - now;
    this.#restUntilMs = now + (1 + REST) * tookMs;
    if (this.#pending.length > 0) this.#writeIn(couldWrite ? REST * tookMs : RETRY_MS);
  }

  /** Writes everything that was appended, in as many turns of the event loop as it takes. */
  async flush(): Promise<void> {
    for (let triedMs = 0; this.#pending.length > 0 && triedMs < GIVE_UP_MS; ) {
      if (this.#writeTurn()) {
        triedMs = 0;
        await new Promise((resolve) => setImmediate(resolve));
      } else {
        triedMs += RETRY_MS;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** Writes everything before it returns: for the end of the process. */
  flushSync(): void {
    for (let triedMs = 0; this.#pending.length > 0 && triedMs < GIVE_UP_MS; ) {
      if (this.#writeTurn()) continue;
      triedMs += RETRY_MS;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }

  /** Writes everything, and closes the file. What is appended afterwards opens it again. */
  async close(): Promise<void> {
    await this.flush();
    this.closeSync();
  }

  closeSync(): void {
    this.flushSync();
    clearTimeout(this.#later);
    this.#later = undefined;
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #writeIn(ms: number): void {
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      this.write();
    }, ms).unref();
  }

  /** Writes what one turn may. @returns false where the file takes no more now. */
  #writeTurn(): boolean {
    let bytes = 0;
    try {
      this.#fd ??= openSync(this.#path, FLAGS);
      while (this.#pending.length > 0 && bytes < MAX_TURN_BYTES) {
        const [lines] = this.#pending;
        const written = writeSync(this.#fd, lines);
        bytes += written;
        this.#pendingBytes -= written;
        if (written === lines.length) this.#pending.shift();
        else this.#pending[0] = lines.subarray(written);
      }
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      this.#fail(error);
      return true;
    }
  }

  #fail(error: unknown): void {
    this.#failed = true;
    this.#dropped += this.#pending.length;
    this.#pending = [];
    this.#pendingBytes = 0;
    const reason = error instanceof Error ? error.message : String(error);
    warnOnce(
      `file ${this.#subject}`,
      `${this.#subject}: cannot write ${this.#path} (${reason}); no spans are written`,
    );
  }
}
