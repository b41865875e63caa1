/** The open savepoints of a transaction, and how many locks it held when each was set. */
export class Savepoints {
  #open: { name: string; held: number }[] = [];

  set(name: string, held: number): void {
    this.#open.push({ name, held });
  }

  /** RELEASE: the savepoint and those after it are gone, their locks stay. */
  release(name: string): void {
    const at = this.#find(name);
    if (at >= 0) this.#open.length = at;
  }

  /**
   * ROLLBACK TO: those after it are gone, it stays itself.
   *
   * @returns how many locks the transaction keeps, or undefined for a name that was never set.
   */
  rollbackTo(name: string): number | undefined {
    const at = this.#find(name);
    if (at < 0) return undefined;
    this.#open.length = at + 1;
    return this.#open[at].held;
  }

  /** @returns how many locks the transaction had when it was set, or undefined for a name that was never set. */
  heldAt(name: string): number | undefined {
    const at = this.#find(name);
    return at < 0 ? undefined : this.#open[at].held;
  }

  /** @returns how many locks the transaction keeps when a statement fails. */
  get keptOnError(): number {
    return this.#open.at(-1)?.held ?? 0;
  }

  clear(): void {
    this.#open = [];
  }

  /** Of two savepoints with one name the newer counts. */
  #find(name: string): number {
    return this.#open.findLastIndex((savepoint) => savepoint.name === name);
  }
}
