const NODES = 4096;
const MASK = NODES - 1;
/** Longer beginnings are not guessed. */
const MOST_BYTES = 128;

/**
 * Which attribute comes after which: spans of one name have the same keys in the same order, so that the bytes up to a
 * value can be compared at once instead of being taken apart.
 *
 * A node stands for the attributes of a span so far; it knows the bytes of the last of them up to its value, and which
 * node came next the last time. Nodes are told apart by some bits of a hash: a collision costs a miss, never a mistake,
 * for a guess counts only where its bytes are those of the input.
 */
export class AttributeGuesses {
  readonly #next = new Uint16Array(NODES);
  /** 0: no bytes are known. */
  readonly #length = new Uint8Array(NODES);
  readonly #bytes = Buffer.alloc(NODES * MOST_BYTES);
  readonly #view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
  /** String id of the key. */
  readonly key = new Uint32Array(NODES);
  /** How its value is spelled, as the scanner numbers it. */
  readonly kind = new Uint8Array(NODES);
  /** String id of the text it had last; 0 for none. */
  readonly text = new Uint32Array(NODES);

  /** @returns the node of spans of a name before their first attribute. */
  start(name: number): number {
    return (Math.imul(name, 0x9e3779b1) >>> 20) & MASK;
  }

  /** @returns the node that came after one the last time, -1 where the bytes at `p` are not those of its attribute. */
  after(node: number, bytes: Uint8Array, view: DataView, p: number): number {
    const next = this.#next[node];
    const length = this.#length[next];
    if (length === 0 || p + length > bytes.length) return -1;
    const from = next * MOST_BYTES;
    const last = length - 4;
    for (let i = 0; i < last; i += 4) {
      if (view.getInt32(p + i, true) !== this.#view.getInt32(from + i, true)) return -1;
    }
    return view.getInt32(p + last, true) === this.#view.getInt32(from + last, true) ? next : -1;
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
    this.#length[next] = length >= 4 && length <= MOST_BYTES ? length : 0;
    if (this.#length[next] > 0) this.#bytes.set(bytes.subarray(from, value), next * MOST_BYTES);
    this.key[next] = key;
    this.kind[next] = kind;
    this.text[next] = 0;
    return next;
  }
}
