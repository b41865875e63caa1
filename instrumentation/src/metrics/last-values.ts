import type { Attributes, BatchObservableResult, Observable } from '@opentelemetry/api';

/**
 * A provider repeats the last value of whatever is not observed any more: slots that were given back would stay held for
 * ever, and pools that have ended would stay open. This says 0 of what was there the last time and is not now.
 */
export class LastValues {
  #before = new Map<string, () => void>();
  #now = new Map<string, () => void>();
  #result: BatchObservableResult | undefined;

  /** Runs the observations of one collection. */
  collect(result: BatchObservableResult, observeAll: () => void): void {
    this.#result = result;
    this.#now = new Map();
    observeAll();
    for (const [key, sayNone] of this.#before) if (!this.#now.has(key)) sayNone();
    this.#before = this.#now;
  }

  /** @param name of the instrument. */
  observe(name: string, instrument: Observable, value: number, attributes: Attributes): void {
    this.#result?.observe(instrument, value, attributes);
    const key = `${name} ${JSON.stringify(attributes)}`;
    this.#now.set(key, () => this.#result?.observe(instrument, 0, attributes));
  }
}
