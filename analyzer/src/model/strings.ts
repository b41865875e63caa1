import { hashBytes } from './content-hash.ts';
import { bufferOver, sharedCopy } from './shared-memory.ts';

/** Text is stored in chunks of this size; a longer one gets a chunk of its own. */
const CHUNK_BITS = 22;
const CHUNK_BYTES = 1 << CHUNK_BITS;
const FIRST_CHUNK_BYTES = 1 << 14;
const MAX_CHUNKS = 2 ** 32 / CHUNK_BYTES;
/** Texts up to this length are remembered as JavaScript strings on their way in. */
const SHORT = 48;
const RECENT = 4096;

/** Texts of a pool in the order of their ids, as bytes end to end. */
export interface TextBlock {
  readonly length: Uint32Array;
  /** Of each text (model/content-hash.ts). */
  readonly hash: Int32Array;
  readonly bytes: Uint8Array;
}

/** The texts of a pool as all threads of the process can read them. */
export interface SharedStrings {
  readonly chunks: readonly Uint8Array[];
  readonly meta: Int32Array;
  readonly size: number;
  readonly slots: Uint32Array;
}

interface Chunk {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/**
 * Text stored once, as UTF-8: names, keys and values repeat across millions of spans. Id 0 is the empty text.
 *
 * A value that nobody asks for never becomes a JavaScript string. (Half a surrogate pair has no UTF-8: it becomes
 * the replacement character.)
 */
export class StringPool {
  readonly #chunks: Chunk[];
  #used = 0;
  /**
   * Three numbers a text, side by side for the processor's cache: hash, length, and where it begins (chunk number in
   * the upper bits, position in the lower).
   */
  #meta: Int32Array;
  #size: number;
  /** Open addressing over ids; 0 is free. */
  #slots: Uint32Array;
  readonly #texts: (string | undefined)[];
  /** Another thread's: nothing can be added. */
  readonly #isOthers: boolean;
  #recent = new Map<string, number>();
  #scratch = newChunk(1 << 12);

  /** @param shared a pool of another thread, to be read only. */
  constructor(shared: SharedStrings | null = null) {
    this.#chunks = shared?.chunks.map(chunkOver) ?? [newChunk(FIRST_CHUNK_BYTES)];
    this.#isOthers = shared !== null;
    this.#meta = shared?.meta ?? new Int32Array(1024 * 3);
    this.#size = shared?.size ?? 1;
    this.#slots = shared?.slots ?? new Uint32Array(4096);
    this.#texts = new Array(this.#size);
    this.#texts[0] = '';
  }

  /** @returns a copy for other threads. */
  share(): SharedStrings {
    const last = this.#chunks.length - 1;
    return {
      chunks: this.#chunks.map(({ bytes: { buffer, byteOffset, length } }, i) =>
        sharedCopy(new Uint8Array(buffer, byteOffset, i < last ? length : this.#used)),
      ),
      meta: sharedCopy(this.#meta.subarray(0, this.#size * 3)),
      size: this.#size,
      slots: sharedCopy(this.#slots),
    };
  }

  /** @returns the id of a text, adding it when it is new. */
  intern(text: string): number {
    if (text === '') return 0;
    const known = this.#recent.get(text);
    if (known !== undefined) return known;
    const end = this.#encode(text);
    const id = this.internBytes(this.#scratch.bytes, this.#scratch.view, 0, end);
    if (text.length <= SHORT) {
      if (this.#recent.size === RECENT) this.#recent = new Map();
      this.#recent.set(text, id);
    }
    return id;
  }

  /** As {@link intern}, of UTF-8 bytes; `view` is over the same bytes. */
  internBytes(bytes: Uint8Array, view: DataView, from: number, end: number): number {
    return this.internHashed(bytes, view, from, end, hashBytes(bytes, view, from, end));
  }

  /** As {@link internBytes}, with the hash known (model/content-hash.ts). */
  internHashed(bytes: Uint8Array, view: DataView, from: number, end: number, hash: number): number {
    if (from === end) return 0;
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (let id = this.#slots[slot]; id !== 0; id = this.#slots[slot]) {
      if (this.#equals(id, hash, bytes, view, from, end)) return id;
      slot = (slot + 1) & mask;
    }
    return this.#add(bytes, from, end, hash, slot);
  }

  /** @returns the length in bytes of a text when it stands at `from`, else 0. */
  lengthAt(id: number, bytes: Uint8Array, view: DataView, from: number): number {
    const length = this.#meta[id * 3 + 1];
    if (from + length > bytes.length) return 0;
    const start = this.#meta[id * 3 + 2];
    const chunk = this.#chunks[start >>> CHUNK_BITS];
    return sameBytes(chunk.bytes, chunk.view, start & (CHUNK_BYTES - 1), bytes, view, from, length)
      ? length
      : 0;
  }

  /** @returns the id of a text already in the pool, or -1. */
  find(text: string): number {
    if (text === '') return 0;
    const end = this.#encode(text);
    const { bytes, view } = this.#scratch;
    const hash = hashBytes(bytes, view, 0, end);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const id = this.#slots[slot];
      if (this.#equals(id, hash, bytes, view, 0, end)) return id;
    }
    return -1;
  }

  /** @returns the hash of the text of an id (0 for the empty text). */
  hashOf(id: number): number {
    return this.#meta[id * 3];
  }

  /** @returns the hash of a text that is not to be interned. */
  hashOfText(text: string): number {
    const end = this.#encode(text);
    return hashBytes(this.#scratch.bytes, this.#scratch.view, 0, end);
  }

  /** @returns the text of an id handed out by {@link intern}. */
  text(id: number): string {
    const known = this.#texts[id];
    if (known !== undefined) return known;
    const start = this.#meta[id * 3 + 2];
    const from = start & (CHUNK_BYTES - 1);
    const text = this.#chunks[start >>> CHUNK_BITS].bytes.toString(
      'utf8',
      from,
      from + this.#meta[id * 3 + 1],
    );
    this.#texts[id] = text;
    return text;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns the texts from an id on, copied. */
  textsFrom(first: number): TextBlock {
    const count = this.#size - first;
    const length = new Uint32Array(count);
    const hash = new Int32Array(count);
    let total = 0;
    for (let i = 0; i < count; i++) {
      hash[i] = this.#meta[(first + i) * 3];
      length[i] = this.#meta[(first + i) * 3 + 1];
      total += length[i];
    }
    const bytes = new Uint8Array(total);
    let at = 0;
    for (let i = 0; i < count; i++) {
      const start = this.#meta[(first + i) * 3 + 2];
      const from = start & (CHUNK_BYTES - 1);
      bytes.set(this.#chunks[start >>> CHUNK_BITS].bytes.subarray(from, from + length[i]), at);
      at += length[i];
    }
    return { length, hash, bytes };
  }

  /** Interns texts of another pool. @param ids where their ids here go, from `first` on. */
  internBlock({ length, hash, bytes }: TextBlock, ids: Uint32Array, first: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    for (let i = 0; i < length.length; i++) {
      ids[first + i] = this.internHashed(bytes, view, at, at + length[i], hash[i]);
      at += length[i];
    }
  }

  #encode(text: string): number {
    if (text.length * 3 > this.#scratch.bytes.length) this.#scratch = newChunk(text.length * 3);
    return this.#scratch.bytes.write(text, 'utf8');
  }

  #equals(id: number, hash: number, bytes: Uint8Array, view: DataView, from: number, end: number): boolean {
    const length = end - from;
    if (this.#meta[id * 3] !== hash || this.#meta[id * 3 + 1] !== length) return false;
    const start = this.#meta[id * 3 + 2];
    const chunk = this.#chunks[start >>> CHUNK_BITS];
    return sameBytes(chunk.bytes, chunk.view, start & (CHUNK_BYTES - 1), bytes, view, from, length);
  }

  #add(bytes: Uint8Array, from: number, end: number, hash: number, slot: number): number {
    if (this.#isOthers) throw new Error('text cannot be added to the pool of another thread');
    const length = end - from;
    if (this.#used + length > this.#chunks[this.#chunks.length - 1].bytes.length) {
      if (this.#chunks.length === MAX_CHUNKS) throw new Error('more than 4 GB of distinct text');
      // The rest of the last chunk stays unused; a long text ends a chunk too.
      this.#chunks.push(newChunk(Math.max(length, CHUNK_BYTES)));
      this.#used = 0;
    }
    const id = this.#size++;
    this.#texts.push(undefined);
    if (id * 3 === this.#meta.length) this.#growMeta();
    const chunk = this.#chunks.length - 1;
    this.#chunks[chunk].bytes.set(bytes.subarray(from, end), this.#used);
    this.#meta[id * 3] = hash;
    this.#meta[id * 3 + 1] = length;
    this.#meta[id * 3 + 2] = (chunk << CHUNK_BITS) | this.#used;
    this.#used += length;
    this.#slots[slot] = id;
    if (id * 2 > this.#slots.length) this.#rehash();
    return id;
  }

  #growMeta(): void {
    const larger = new Int32Array(this.#meta.length * 2);
    larger.set(this.#meta);
    this.#meta = larger;
  }

  #rehash(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let id = 1; id < this.#size; id++) {
      let slot = this.#meta[id * 3] & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = id;
    }
    this.#slots = slots;
  }
}

function chunkOver(memory: Uint8Array): Chunk {
  const bytes = bufferOver(memory);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) };
}

function newChunk(length: number): Chunk {
  return chunkOver(Buffer.allocUnsafeSlow(length));
}

function sameBytes(
  a: Uint8Array,
  viewA: DataView,
  fromA: number,
  b: Uint8Array,
  viewB: DataView,
  fromB: number,
  length: number,
): boolean {
  let i = 0;
  for (; i + 4 <= length; i += 4) {
    if (viewA.getInt32(fromA + i, true) !== viewB.getInt32(fromB + i, true)) return false;
  }
  for (; i < length; i++) if (a[fromA + i] !== b[fromB + i]) return false;
  return true;
}
