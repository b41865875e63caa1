import { grown } from './growing.ts';

/**
 * Which keys with which types follow one another in a span's attributes.
 *
 * Spans of one instrumentation all have the same, so that a row stores the number of its shape and its values
 * only: a third of the memory, and whether a span has some key at all is known from its shape.
 */
export interface AttributeShapes {
  /** Entries of shape s are offset[s] .. offset[s + 1]. */
  readonly offset: Uint32Array;
  /** String ids. */
  readonly key: Uint32Array;
  /** TYPE of model/span-codes.ts. */
  readonly type: Uint8Array;
}

/** Collects shapes; shape 0 has no attributes. */
export class AttributeShapesBuilder {
  #offset = new Uint32Array(256);
  #key = new Uint32Array(1024);
  #type = new Uint8Array(1024);
  #hash = new Int32Array(256);
  /** Open addressing over shape numbers; 0 is free. */
  #slots = new Uint32Array(512);
  #length = 1;

  /** @returns the number of the shape with these entries. */
  of(keys: Uint32Array, types: Uint8Array, count: number): number {
    if (count === 0) return 0;
    let hash = count;
    for (let i = 0; i < count; i++)
      hash = Math.imul(hash ^ (keys[i] * 8 + types[i]), 0x9e3779b1) ^ (hash >>> 15);
    const mask = this.#slots.length - 1;
    let slot = (hash ^ (hash >>> 16)) & mask;
    for (let shape = this.#slots[slot]; shape !== 0; shape = this.#slots[slot]) {
      if (this.#hash[shape] === hash && this.#equals(shape, keys, types, count)) return shape;
      slot = (slot + 1) & mask;
    }
    return this.#add(keys, types, count, hash, slot);
  }

  /** Shapes so far. */
  get length(): number {
    return this.#length;
  }

  /** @returns the shapes from a number on, copied; the entries of the first begin at offset[0] = 0. */
  from(first: number): AttributeShapes {
    const begin = this.#offset[first];
    const end = this.#offset[this.#length];
    return {
      offset: this.#offset.slice(first, this.#length + 1).map((at) => at - begin),
      key: this.#key.slice(begin, end),
      type: this.#type.slice(begin, end),
    };
  }

  build(): AttributeShapes {
    const entries = this.#offset[this.#length];
    return {
      offset: this.#offset.subarray(0, this.#length + 1),
      key: this.#key.subarray(0, entries),
      type: this.#type.subarray(0, entries),
    };
  }

  #equals(shape: number, keys: Uint32Array, types: Uint8Array, count: number): boolean {
    const from = this.#offset[shape];
    if (this.#offset[shape + 1] - from !== count) return false;
    for (let i = 0; i < count; i++) {
      if (this.#key[from + i] !== keys[i] || this.#type[from + i] !== types[i]) return false;
    }
    return true;
  }

  #add(keys: Uint32Array, types: Uint8Array, count: number, hash: number, slot: number): number {
    const shape = this.#length++;
    const from = this.#offset[shape];
    while (from + count > this.#key.length) {
      this.#key = grown(this.#key, new Uint32Array(this.#key.length * 2));
      this.#type = grown(this.#type, new Uint8Array(this.#type.length * 2));
    }
    if (shape + 2 > this.#offset.length) {
      this.#offset = grown(this.#offset, new Uint32Array(this.#offset.length * 2));
      this.#hash = grown(this.#hash, new Int32Array(this.#hash.length * 2));
    }
    this.#key.set(keys.subarray(0, count), from);
    this.#type.set(types.subarray(0, count), from);
    this.#offset[shape + 1] = from + count;
    this.#hash[shape] = hash;
    this.#slots[slot] = shape;
    if (shape * 2 > this.#slots.length) this.#rehash();
    return shape;
  }

  #rehash(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let shape = 1; shape < this.#length; shape++) {
      const hash = this.#hash[shape];
      let slot = (hash ^ (hash >>> 16)) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = shape;
    }
    this.#slots = slots;
  }
}
