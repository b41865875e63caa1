/** Things numbered in order of first appearance; equal ones, as their keys say, share a number. */
export class Numbered<T> {
  readonly list: T[] = [];
  readonly #ids = new Map<string, number>();

  /** @returns the number of the thing with a key, which is made when it is new. */
  of(key: string, make: () => T): number {
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.list.push(make()) - 1;
      this.#ids.set(key, id);
    }
    return id;
  }

  /** Forgets all from a number on. */
  truncate(length: number): void {
    if (this.list.length === length) return;
    this.list.length = length;
    for (const [key, id] of this.#ids) if (id >= length) this.#ids.delete(key);
  }
}
