/** Text stored once: names, keys and values repeat across millions of spans. Id 0 is the empty text. */
export class StringPool {
  readonly #texts: string[] = [''];
  readonly #ids = new Map<string, number>([['', 0]]);

  /** @returns the id of a text, adding it when it is new. */
  intern(text: string): number {
    let id = this.#ids.get(text);
    if (id === undefined) {
      id = this.#texts.length;
      this.#texts.push(text);
      this.#ids.set(text, id);
    }
    return id;
  }

  /** @returns the id of a text already in the pool, or -1. */
  find(text: string): number {
    return this.#ids.get(text) ?? -1;
  }

  /** @returns the text of an id handed out by {@link intern}. */
  text(id: number): string {
    return this.#texts[id];
  }

  get size(): number {
    return this.#texts.length;
  }
}
