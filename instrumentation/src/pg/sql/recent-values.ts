/** So few that it follows a change within seconds, so many that four outliers in a row do not move it. */
const SIZE = 9;

/** Median, lower quartile and least of the last values of something. */
export class RecentValues {
  readonly #recent = new Float64Array(SIZE);
  readonly #sorted = new Float64Array(SIZE);
  #count = 0;
  #next = 0;

  /** @returns null before the first value; between two, the lower one. */
  get median(): number | null {
    return this.#count === 0 ? null : this.#sorted[(this.#count - 1) >> 1];
  }

  /** @returns the least of at least three values: fewer may all be those of a cold start. */
  get least(): number | null {
    return this.#count < 3 ? null : this.#sorted[0];
  }

  /** @returns the lower quartile of at least three values. */
  get lowerQuartile(): number | null {
    return this.#count < 3 ? null : this.#sorted[(this.#count - 1) >> 2];
  }

  add(value: number): void {
    const sorted = this.#sorted;
    let at: number;
    if (this.#count < SIZE) at = this.#count++;
    else at = sorted.indexOf(this.#recent[this.#next]);
    this.#recent[this.#next] = value;
    this.#next = (this.#next + 1) % SIZE;
    // The place of the value that left moves to where the new one belongs.
    for (; at > 0 && sorted[at - 1] > value; at--) sorted[at] = sorted[at - 1];
    for (; at < this.#count - 1 && sorted[at + 1] < value; at++) sorted[at] = sorted[at + 1];
    sorted[at] = value;
  }
}
