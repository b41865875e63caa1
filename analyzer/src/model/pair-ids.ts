/** Numbers pairs of numbers in order of first appearance: a key of several ids without a text built for each row. */
export class PairIds {
  #a = new Uint32Array(64);
  #b = new Uint32Array(64);
  /** Open addressing over id + 1; 0 is free. */
  #slots = new Uint32Array(256);
  #length = 0;

  /** Pairs so far. */
  get length(): number {
    return this.#length;
  }

  /** @returns the number of a pair of unsigned 32-bit integers. */
  of(a: number, b: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(a, b) & mask;
    for (let entry = this.#slots[slot]; entry !== 0; entry = this.#slots[slot]) {
      if (this.#a[entry - 1] === a && this.#b[entry - 1] === b) return entry - 1;
      slot = (slot + 1) & mask;
    }
    const id = this.#length++;
    if (id === this.#a.length) this.#grow();
    this.#a[id] = a;
    this.#b[id] = b;
    this.#slots[slot] = id + 1;
    if (this.#length * 2 > this.#slots.length) this.#rehash();
    return id;
  }

  #grow(): void {
    const [a, b] = [this.#a, this.#b];
    this.#a = new Uint32Array(a.length * 2);
    this.#a.set(a);
    this.#b = new Uint32Array(b.length * 2);
    this.#b.set(b);
  }

  #rehash(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let id = 0; id < this.#length; id++) {
      let slot = hashOf(this.#a[id], this.#b[id]) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = id + 1;
    }
    this.#slots = slots;
  }
}

function hashOf(a: number, b: number): number {
  const mixed = Math.imul(Math.imul(a ^ (a >>> 16), 0x9e3779b1) ^ b, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}
