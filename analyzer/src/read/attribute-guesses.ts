import { ONCE } from '../model/attribute-columns.ts';

const NODES = 4096;
const MASK = NODES - 1;
/** Longer beginnings are not guessed, and no longer attributes remembered whole. */
const MOST_BYTES = 128;
const STRIDE = 8;
/** A value that was another one so many times in a row is not remembered any more. */
const GIVE_UP = 16;

/**
 * Which attribute comes after which: spans of one name have the same keys in the same order, so that the bytes up to a
 * value can be compared at once instead of being taken apart. Many have the same value, too, as the last time: then all
 * their bytes are compared, and what came of them is said again.
 *
 * A node stands for the attributes of a span so far; it knows the bytes of the last of them, and which node came next
 * the last time. Nodes are told apart by some bits of a hash: a collision costs a miss, never a mistake, for a guess
 * counts only where its bytes are those of the input.
 */
export class AttributeGuesses {
  readonly #next = new Uint16Array(NODES);
  /** Bytes up to the value; 0: none are known. */
  readonly #length = new Uint8Array(NODES);
  /** Bytes of the value and what closes it; 0: none are known. */
  readonly #valueLength = new Uint8Array(NODES);
  readonly #misses = new Uint8Array(NODES);
  readonly #bytes = Buffer.alloc(NODES * MOST_BYTES);
  readonly #view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
  /** String id of the key. */
  readonly key = new Uint32Array(NODES);
  /** How its value is spelled, as the scanner numbers it. */
  readonly kind = new Uint8Array(NODES);
  /** String id of the text it had last; 0 for none. */
  readonly text = new Uint32Array(NODES);
  /** What the value it had last added to its columns ({@link AttributeColumns.again}). */
  readonly addedType = new Uint8Array(NODES);
  readonly addedData = new Uint32Array(NODES);

  /** @returns the node of spans of a name before their first attribute. */
  start(name: number): number {
    return (Math.imul(name, 0x9e3779b1) >>> 20) & MASK;
  }

  /** @returns the node that came after one the last time, -1 where the bytes at `p` are not those of its attribute. */
  after(node: number, bytes: Uint8Array, view: DataView, p: number): number {
    const next = this.#next[node];
    const length = this.#length[next];
    if (length === 0 || p + length + STRIDE > bytes.length) return -1;
    return this.#equal(next * MOST_BYTES, length, view, p) ? next : -1;
  }

  /** @returns the length of the value at `p` and what closes it where they are those it had last, else 0. */
  sameValue(node: number, bytes: Uint8Array, view: DataView, p: number): number {
    const length = this.#valueLength[node];
    if (length === 0 || p + length + STRIDE > bytes.length) return 0;
    const known = this.#length[node];
    const own = node * MOST_BYTES + known;
    if (length >= STRIDE || known + length < STRIDE) return this.#equal(own, length, view, p) ? length : 0;
    // The bytes before it are known to be the same.
    const back = STRIDE - length;
    return view.getBigInt64(p - back, true) === this.#view.getBigInt64(own - back, true) ? length : 0;
  }

  /** Remembers the value read last, and what came of it. */
  remember(node: number, bytes: Uint8Array, from: number, end: number, type: number, data: number): void {
    if (this.#misses[node] === GIVE_UP) return;
    const length = end - from;
    const isSmall = length <= 0xff && this.#length[node] + length <= MOST_BYTES;
    const fits = ++this.#misses[node] < GIVE_UP && isSmall && type !== ONCE;
    this.#valueLength[node] = fits ? length : 0;
    if (!fits) return;
    const to = node * MOST_BYTES + this.#length[node];
    for (let i = 0; i < length; i++) this.#bytes[to + i] = bytes[from + i];
    this.addedType[node] = type;
    this.addedData[node] = data;
  }

  /** The value was the one remembered. */
  hit(node: number): void {
    this.#misses[node] = 0;
  }

  /** @returns the length of the bytes up to the value of a node's attribute. */
  lengthOf(node: number): number {
    return this.#length[node];
  }

  /** Learns the attribute that came after a node, from the bytes before its value. @returns its node. */
  learn(node: number, key: number, kind: number, bytes: Uint8Array, from: number, value: number): number {
    const next = (Math.imul(Math.imul(node + 1, 0x85ebca6b) ^ (key * 8 + kind), 0x9e3779b1) >>> 20) & MASK;
    this.#next[node] = next;
    if (this.key[next] === key && this.kind[next] === kind && this.#length[next] > 0) return next;
    const length = value - from;
    this.#length[next] = length <= MOST_BYTES ? length : 0;
    if (this.#length[next] > 0) this.#bytes.set(bytes.subarray(from, value), next * MOST_BYTES);
    this.key[next] = key;
    this.kind[next] = kind;
    this.text[next] = 0;
    this.#valueLength[next] = 0;
    this.#misses[next] = 0;
    return next;
  }

  /** Eight bytes a step is the fastest the engine compares; the last step reaches back where they are no multiple. */
  #equal(own: number, length: number, view: DataView, p: number): boolean {
    const mine = this.#view;
    const last = length - STRIDE;
    for (let i = 0; i < last; i += STRIDE) {
      if (view.getBigInt64(p + i, true) !== mine.getBigInt64(own + i, true)) return false;
    }
    if (last >= 0) return view.getBigInt64(p + last, true) === mine.getBigInt64(own + last, true);
    for (let i = 0; i < length; i++) if (view.getUint8(p + i) !== mine.getUint8(own + i)) return false;
    return true;
  }
}
