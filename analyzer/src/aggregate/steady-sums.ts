/** Parts of one that fractions are kept to: sums of them stay exact for millions of addends. */
const UNIT = 2 ** 32;
const CARRY_FROM = 2 ** 52;

/** The sums of one key. */
export interface SteadySum {
  /** Whole numbers and, in units, what is left of each addend. */
  readonly whole: Float64Array;
  readonly fraction: Float64Array;
  /** The earliest request that added to it, and when in that request. */
  request: number;
  turn: number;
}

/**
 * Sums by key and window that come out the same to the last bit in whatever order the requests come: each addend is
 * split into a whole number and a fraction rounded to 2⁻³², and both are summed exactly.
 */
export class SteadySums<Key> {
  readonly #windows: number;
  readonly #entries = new Map<Key, SteadySum>();
  #turn = 0;
  /** Those whose keys are numbers, by key. */
  readonly #numbered: (SteadySum | undefined)[] = [];

  constructor(windows: number) {
    this.#windows = windows;
  }

  /** @param key a small whole number, or anything else */
  add(key: Key, request: number, window: number, value: number): SteadySum {
    const known = typeof key === 'number' ? this.#numbered[key] : this.#entries.get(key);
    const entry = known ?? this.#added(key, request);
    this.addTo(entry, request, window, value);
    return entry;
  }

  /** As {@link add}, with the sums of a key that {@link add} returned: nothing is looked up. */
  addTo(entry: SteadySum, request: number, window: number, value: number): void {
    if (request < entry.request) {
      entry.request = request;
      entry.turn = this.#turn++;
    }
    const whole = Math.floor(value);
    entry.whole[window] += whole;
    if (whole === value) return;
    entry.fraction[window] += Math.round((value - whole) * UNIT);
    if (entry.fraction[window] < CARRY_FROM) return;
    const carried = Math.floor(entry.fraction[window] / UNIT);
    entry.whole[window] += carried;
    entry.fraction[window] -= carried * UNIT;
  }

  #added(key: Key, request: number): SteadySum {
    const entry = {
      whole: new Float64Array(this.#windows),
      fraction: new Float64Array(this.#windows),
      request,
      turn: this.#turn++,
    };
    this.#entries.set(key, entry);
    if (typeof key === 'number') this.#numbered[key] = entry;
    return entry;
  }

  /** @returns the sums by window, in the order in which the requests, one after the other, would have met the keys. */
  sums(): Map<Key, Float64Array> {
    const inOrder = [...this.#entries].sort(([, a], [, b]) => a.request - b.request || a.turn - b.turn);
    return new Map(
      inOrder.map(([key, { whole, fraction }]) => [key, whole.map((sum, w) => sum + fraction[w] / UNIT)]),
    );
  }
}
