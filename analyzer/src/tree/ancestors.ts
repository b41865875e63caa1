/**
 * Finds the nearest ancestor that ends late enough in O(log n), however deep the tree.
 *
 * Each row knows its nearest ancestor with a later end; along that chain ends only grow, so skip pointers (the
 * "jump pointers" of Myers, An applicative random-access stack, 1983) can search it. Rows are added top-down.
 */
export class LateAncestors {
  readonly #later: Int32Array;
  readonly #jump: Int32Array;
  readonly #depth: Int32Array;
  readonly #endsAfter: (a: number, b: number) => number;

  /** @param endsAfter by how many ns the end of row a lies after that of row b. */
  constructor(rows: number, endsAfter: (a: number, b: number) => number) {
    this.#later = new Int32Array(rows).fill(-1);
    this.#jump = new Int32Array(rows).fill(-1);
    this.#depth = new Int32Array(rows);
    this.#endsAfter = endsAfter;
  }

  /** Adds a row whose parent (-1: none) was added before. */
  add(row: number, parent: number): void {
    const later = parent < 0 ? -1 : this.#search(parent, (up) => this.#endsAfter(up, row) > 0);
    this.#later[row] = later;
    if (later < 0) return;
    this.#depth[row] = this.#depth[later] + 1;
    const jump = this.#jump[later];
    const even =
      jump >= 0 &&
      this.#jump[jump] >= 0 &&
      this.#depth[later] - this.#depth[jump] === this.#depth[jump] - this.#depth[this.#jump[jump]];
    this.#jump[row] = even ? this.#jump[jump] : later;
  }

  /** @returns the nearest of `from` and its ancestors whose end + tolerance covers the end of `row`; -1: none. */
  covering(row: number, from: number, toleranceNs: number): number {
    return this.#search(from, (up) => this.#endsAfter(row, up) <= toleranceNs);
  }

  /** The nearest of `from` and its ancestors that ends late enough; `enough` holds for all that end later still. */
  #search(from: number, enough: (row: number) => boolean): number {
    let row = from;
    while (row >= 0 && !enough(row)) {
      const jump = this.#jump[row];
      row = jump >= 0 && !enough(jump) ? jump : this.#later[row];
    }
    return row;
  }
}
