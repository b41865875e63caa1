import type { PartProgress } from '../infer/analysis-in-parts.ts';
import type { ReadProgress } from '../read/index.ts';
import { bytes, count, duration } from '../report/units.ts';

/** Work that takes less is done before anybody has read about it. */
const QUIET_MS = 1000;
/** Ten times a second is often enough for the eye. */
const EVERY_MS = 100;

/** Says on one line of a terminal how far the reading has come, once it takes longer than a second. */
export class ReadingLine {
  readonly #say: (text: string) => void;
  readonly #startedMs: number;
  #saidMs = Number.NEGATIVE_INFINITY;

  constructor(say: (text: string) => void, nowMs = performance.now()) {
    this.#say = say;
    this.#startedMs = nowMs;
  }

  update(progress: ReadProgress, nowMs = performance.now()): void {
    const elapsedMs = nowMs - this.#startedMs;
    if (elapsedMs < QUIET_MS || nowMs - this.#saidMs < EVERY_MS) return;
    this.#saidMs = nowMs;
    this.#say(readingText(progress, elapsedMs));
  }

  /** The reading is over: the next step is said only where it, too, is late. */
  analysing(spans: number, nowMs = performance.now()): void {
    if (nowMs - this.#startedMs >= QUIET_MS) this.#say(`analysing ${count(spans)} spans`);
  }

  /** An analysis in parts goes on. */
  passing(progress: PartProgress, nowMs = performance.now()): void {
    if (nowMs - this.#startedMs < QUIET_MS || nowMs - this.#saidMs < EVERY_MS) return;
    this.#saidMs = nowMs;
    this.#say(passText(progress));
  }
}

/** @returns `analysing 9,570,000 spans: 42 %`. */
export function passText({ spans, part, parts }: PartProgress): string {
  return `analysing ${count(spans)} spans: ${Math.floor((100 * part) / parts)} %`;
}

/** @returns `reading 42 % of 1.03 GB, 396,110 spans, 1.4 s left`; without a share where the size is not known. */
export function readingText(progress: ReadProgress, elapsedMs: number): string {
  const { bytes: done, totalBytes, spans } = progress;
  const found = `${count(spans)} spans`;
  if (totalBytes === null || done === 0) return `reading ${bytes(done)}, ${found}`;
  // A file that grows meanwhile is not read beyond what it is.
  const share = Math.min(1, done / totalBytes);
  const leftNs = (elapsedMs / share - elapsedMs) * 1e6;
  return `reading ${Math.floor(share * 100)} % of ${bytes(totalBytes)}, ${found}, ${duration(leftNs)} left`;
}
