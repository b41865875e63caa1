import { grown } from './growing.ts';

/** An index by row; -1 where a row has none. */
export class RowIndex {
  /** One more than the index, so that fresh memory says "none". */
  #plusOne = new Uint32Array(1024);

  set(row: number, index: number): void {
    if (row >= this.#plusOne.length) {
      this.#plusOne = grown(this.#plusOne, new Uint32Array(Math.max(row + 1, this.#plusOne.length * 2)));
    }
    this.#plusOne[row] = index + 1;
  }

  of(row: number): number {
    return row < this.#plusOne.length ? this.#plusOne[row] - 1 : -1;
  }
}
