import type { Context } from '@opentelemetry/api';
import type { EstimatedWait } from './seen-wait.ts';

const MAX_DIFFERENCES = 10_000;
/** Both read the clock at slightly different places of the same callbacks. */
const TOLERANCE_MS = 1;

/**
 * Waits for rows that were recorded from the statements of this process, beside what the sampler saw of the same
 * waits. Only the recorded ones become spans.
 */
export class Comparison {
  /** Sampled first: the record of a wait is written when its transaction ends. */
  readonly #sampled = new WeakMap<Context, EstimatedWait>();
  /** Sampled minus recorded length, ms. */
  readonly #differencesMs: number[] = [];
  #recorded = 0;
  #recordedMs = 0;
  #both = 0;
  #sampledMs = 0;
  #outside = 0;

  /** Waits that were recorded, with a length. */
  get recorded(): number {
    return this.#recorded;
  }

  /** Those of them that a poll saw too. */
  get both(): number {
    return this.#both;
  }

  /** Those of both whose recorded length lies outside the sampler's bounds by more than 1 ms. */
  get outsideBounds(): number {
    return this.#outside;
  }

  /** Sampled share of the recorded time, 0..1 and more; null before the first wait. */
  get sampledShare(): number | null {
    return this.#recordedMs === 0 ? null : this.#sampledMs / this.#recordedMs;
  }

  /** @returns a quantile of the difference of both lengths, sampled minus recorded, ms. @param q 0..1 */
  differenceMs(q: number): number | null {
    if (this.#differencesMs.length === 0) return null;
    const sorted = [...this.#differencesMs].sort((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  }

  /** In one line, for people. */
  toString(): string {
    const ms = (q: number) => this.differenceMs(q)?.toFixed(1) ?? '-';
    const percent = (share: number | null) => (share === null ? '-' : `${(100 * share).toFixed(1)} %`);
    return (
      `of ${this.#recorded} recorded waits the sampler saw ${this.#both} (${percent(this.#recorded === 0 ? null : this.#both / this.#recorded)}), ` +
      `${percent(this.sampledShare)} of their time; sampled minus recorded: ` +
      `p5 ${ms(0.05)}, p50 ${ms(0.5)}, p95 ${ms(0.95)} ms; outside the sampler's bounds: ${this.#outside}`
    );
  }

  sampled(parent: Context, wait: EstimatedWait): void {
    this.#sampled.set(parent, wait);
  }

  recordedWait(parent: Context, lengthMs: number): void {
    this.#recorded++;
    this.#recordedMs += lengthMs;
    const seen = this.#sampled.get(parent);
    if (seen === undefined) return;
    this.#sampled.delete(parent);
    this.#both++;
    const sampledMs = seen.endMs - seen.startMs;
    this.#sampledMs += sampledMs;
    if (lengthMs < seen.minMs - TOLERANCE_MS || lengthMs > seen.maxMs + TOLERANCE_MS) this.#outside++;
    if (this.#differencesMs.length < MAX_DIFFERENCES) this.#differencesMs.push(sampledMs - lengthMs);
  }
}
