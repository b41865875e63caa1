/** Something that stands in at most one list. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
  isListed: boolean;
}

/**
 * What comes and goes with every request. Not a Set: a Set makes a new table from time to time, and the old
 * one, once it is old to the garbage collector, keeps every later one alive, and whoever stood in it.
 */
export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): T | undefined {
    return this.#first;
  }

  /** Adds at the end. */
  add(item: T): void {
    if (item.isListed) return;
    item.isListed = true;
    item.previous = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
    this.#size++;
  }

  /** @returns whether it was there. */
  delete(item: T): boolean {
    if (!item.isListed) return false;
    const { previous, next } = item;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    item.isListed = false;
    item.previous = undefined;
    item.next = undefined;
    this.#size--;
    return true;
  }

  /** @returns those in the list now: it may be changed while they are looked at. */
  items(): T[] {
    const items: T[] = [];
    for (let item = this.#first; item !== undefined; item = item.next) items.push(item);
    return items;
  }
}
