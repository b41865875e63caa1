/** Texts by number, in order of first appearance: what parts of one input share so that a number means the same in all. */
export class Names {
  readonly list: string[] = [];
  readonly #ids = new Map<string, number>();

  /** @returns the number of a text. */
  of(text: string): number {
    let id = this.#ids.get(text);
    if (id === undefined) {
      id = this.list.push(text) - 1;
      this.#ids.set(text, id);
    }
    return id;
  }
}
