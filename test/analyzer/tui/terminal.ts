import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** The output side of a terminal of any size: keeps what is written, can be resized. */
export class Out extends EventEmitter {
  readonly isTTY = true;
  readonly writable = true;
  columns: number;
  rows: number;
  readonly frames: string[] = [];

  constructor(columns: number, rows: number) {
    super();
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string, done?: () => void): boolean {
    if (text !== '') this.frames.push(text);
    done?.();
    return true;
  }

  async resize(columns: number, rows: number): Promise<void> {
    this.columns = columns;
    this.rows = rows;
    const seen = this.frames.length;
    this.emit('resize');
    await this.drawn(seen);
  }

  /** Waits for a frame after the first `seen`, and until no other follows it; for a while only, where none comes. */
  async drawn(seen: number): Promise<void> {
    for (let tries = 0; tries < 100 && this.frames.length === seen; tries++) await sleep(5);
    for (let last = -1; last !== this.frames.length; ) {
      last = this.frames.length;
      await sleep(15);
    }
  }

  /** The last frame without escape codes, line by line. */
  lines(): string[] {
    const frame =
      this.frames.findLast((text) => text.includes('Verdict') || text.includes('waitfall needs')) ?? '';
    return frame
      .replace(/\u001b\[[\d;?<>=]*[ -/]*[@-~]/g, '')
      .replace(/\n$/, '')
      .split('\n');
  }
}

/** The input side: keys that are pressed, as a raw-mode terminal hands them on. */
export class In extends EventEmitter {
  readonly isTTY = true;
  readonly #queue: string[] = [];
  raw = false;

  setEncoding(): void {}
  setRawMode(on: boolean): this {
    this.raw = on;
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  pause(): this {
    return this;
  }
  resume(): this {
    return this;
  }
  read(): string | null {
    return this.#queue.shift() ?? null;
  }

  /** Presses keys and waits until their frame, and whatever they loaded, is drawn. */
  async press(keys: string, out: Out): Promise<void> {
    const seen = out.frames.length;
    this.#queue.push(keys);
    this.emit('readable');
    await out.drawn(seen);
  }
}
