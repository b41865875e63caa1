/** Trace ids in order of their indexes. */
export interface TraceIdBlock {
  readonly words: Uint32Array;
  readonly opaque: readonly { readonly id: string; readonly index: number }[];
}

/** Trace ids by index of first appearance: 128-bit ids as four numbers, opaque ones as text. */
export class TraceIds {
  #words = new Uint32Array(1024 * 4);
  /** Open addressing over index + 1; 0 is free. */
  #slots = new Uint32Array(4096);
  #length = 0;
  /** The index returned last. */
  #last = 0;
  readonly #opaqueIndex = new Map<string, number>();
  /** Opaque ids in order of appearance. */
  readonly #opaque: { readonly id: string; readonly index: number }[] = [];

  get length(): number {
    return this.#length;
  }

  /** @returns the index of an id in canonical text. */
  ofText(id: string): number {
    if (HEX32.test(id)) {
      const word = (i: number) => Number.parseInt(id.slice(i * 8, i * 8 + 8), 16);
      return this.of(word(0), word(1), word(2), word(3));
    }
    let index = this.#opaqueIndex.get(id);
    if (index === undefined) {
      index = this.#append(0, 0, 0, 0);
      this.#opaqueIndex.set(id, index);
      this.#opaque.push({ id, index });
    }
    return index;
  }

  /** @returns the index of an id given as its four 32-bit words, the highest first. */
  of(a: number, b: number, c: number, d: number): number {
    const words = this.#words;
    // Spans of one trace come together more often than not.
    const last = this.#last * 4;
    if (words[last + 3] === d && words[last + 2] === c && words[last + 1] === b && words[last] === a) {
      if (this.#last < this.#length) return this.#last;
    }
    return (this.#last = this.#find(a, b, c, d));
  }

  #find(a: number, b: number, c: number, d: number): number {
    const words = this.#words;
    const mask = this.#slots.length - 1;
    let slot = hashOf(a, b, c, d) & mask;
    for (let entry = this.#slots[slot]; entry !== 0; entry = this.#slots[slot]) {
      const at = (entry - 1) * 4;
      if (words[at + 3] === d && words[at + 2] === c && words[at + 1] === b && words[at] === a)
        return entry - 1;
      slot = (slot + 1) & mask;
    }
    this.#slots[slot] = this.#length + 1;
    const index = this.#append(a, b, c, d);
    if (this.#length * 2 > this.#slots.length) this.#rehash(this.#slots.length * 2);
    return index;
  }

  /**
   * Forgets every id of this index and above. Newest first: no id put in later was pushed aside by the one that goes,
   * so clearing its slot is enough.
   */
  truncate(length: number): void {
    for (
      let newest = this.#opaque.at(-1);
      newest !== undefined && newest.index >= length;
      newest = this.#opaque.at(-1)
    ) {
      this.#opaqueIndex.delete(newest.id);
      this.#opaque.pop();
    }
    const mask = this.#slots.length - 1;
    const words = this.#words;
    while (this.#length > length) {
      const index = --this.#length;
      const at = index * 4;
      let slot = hashOf(words[at], words[at + 1], words[at + 2], words[at + 3]) & mask;
      while (this.#slots[slot] !== 0 && this.#slots[slot] !== index + 1) slot = (slot + 1) & mask;
      // An opaque id has no slot.
      if (this.#slots[slot] === index + 1) this.#slots[slot] = 0;
    }
  }

  /** @returns the ids from an index on: four words each, and those that are opaque text (their words are 0). */
  from(first: number): TraceIdBlock {
    return {
      words: this.#words.slice(first * 4, this.#length * 4),
      opaque: this.#opaque
        .filter(({ index }) => index >= first)
        .map(({ id, index }) => ({ id, index: index - first })),
    };
  }

  /** Adds ids of another table. @param indexes where their indexes here go, from `first` on. */
  addBlock({ words, opaque }: TraceIdBlock, indexes: Uint32Array, first: number): void {
    let text = 0;
    for (let i = 0; i * 4 < words.length; i++) {
      if (opaque[text]?.index === i) indexes[first + i] = this.ofText(opaque[text++].id);
      else indexes[first + i] = this.of(words[i * 4], words[i * 4 + 1], words[i * 4 + 2], words[i * 4 + 3]);
    }
  }

  /** @returns an id as canonical text. */
  text(index: number): string {
    return this.#opaqueText(index) ?? this.#hexText(index);
  }

  /** @returns a hash of an id, the same wherever it stands. */
  hash(index: number): number {
    const opaque = this.#opaqueText(index);
    if (opaque !== undefined) return hashText(opaque);
    const words = this.#words;
    return hashOf(words[index * 4], words[index * 4 + 1], words[index * 4 + 2], words[index * 4 + 3]);
  }

  /** @returns all ids as canonical text, by index. */
  texts(): string[] {
    const texts = new Array<string>(this.#length);
    // Big-endian bytes of many ids at once: one hex text to cut up.
    for (let from = 0; from < this.#length; from += BATCH) {
      const count = Math.min(BATCH, this.#length - from);
      const bytes = Buffer.allocUnsafe(count * 16);
      for (let i = 0; i < count * 4; i++) bytes.writeUInt32BE(this.#words[from * 4 + i], i * 4);
      const hex = bytes.toString('hex');
      for (let i = 0; i < count; i++) texts[from + i] = hex.slice(i * 32, i * 32 + 32);
    }
    for (const { id, index } of this.#opaque) texts[index] = id;
    return texts;
  }

  /** An opaque id has no words; a zero one is refused by the readers. */
  #opaqueText(index: number): string | undefined {
    const words = this.#words.subarray(index * 4, index * 4 + 4);
    if (this.#opaque.length === 0 || words.some((word) => word !== 0)) return undefined;
    let low = 0;
    let high = this.#opaque.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#opaque[middle].index < index) low = middle + 1;
      else high = middle;
    }
    return this.#opaque[low]?.index === index ? this.#opaque[low].id : undefined;
  }

  #hexText(index: number): string {
    let text = '';
    for (let i = 0; i < 4; i++) text += this.#words[index * 4 + i].toString(16).padStart(8, '0');
    return text;
  }

  #append(a: number, b: number, c: number, d: number): number {
    const index = this.#length++;
    if (index * 4 === this.#words.length) {
      const bigger = new Uint32Array(this.#words.length * 2);
      bigger.set(this.#words);
      this.#words = bigger;
    }
    const at = index * 4;
    this.#words[at] = a;
    this.#words[at + 1] = b;
    this.#words[at + 2] = c;
    this.#words[at + 3] = d;
    return index;
  }

  #rehash(slots: number): void {
    const opaque = new Set(this.#opaqueIndex.values());
    this.#slots = new Uint32Array(slots);
    const mask = slots - 1;
    for (let i = 0; i < this.#length; i++) {
      if (opaque.has(i)) continue;
      const at = i * 4;
      let slot =
        hashOf(this.#words[at], this.#words[at + 1], this.#words[at + 2], this.#words[at + 3]) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = i + 1;
    }
  }
}

function hashText(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++)
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x9e3779b1) ^ (hash >>> 15);
  return hash;
}

const BATCH = 1024;
const HEX32 = /^[0-9a-f]{32}$/;

/** Random ids need no more than this; ids counted up from 1 are spread by the multiplications. */
function hashOf(a: number, b: number, c: number, d: number): number {
  let hash = Math.imul(d ^ Math.imul(c, 0x85ebca6b), 0x9e3779b1);
  hash = Math.imul(hash ^ b ^ (hash >>> 15), 0x85ebca6b);
  hash = Math.imul(hash ^ a ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
