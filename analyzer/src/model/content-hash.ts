/*
 * One hash of UTF-8 bytes for everybody: a scanner that looks for the end of a text hashes it on the way, four bytes a
 * step, and the string pool finds it by that.
 */

/** Hash of no bytes yet. */
export const HASH_START = 0x2545f491;

/** @returns the hash with four more bytes (or the one to three left, zeros above them). */
export function hashWord(hash: number, word: number): number {
  return Math.imul(hash ^ word, 0x9e3779b1) ^ (hash >>> 15);
}

/** @returns the hash of all `length` bytes, mixed so that its lower bits depend on each of them. */
export function hashEnd(hash: number, length: number): number {
  const mixed = Math.imul(hash ^ length ^ (hash >>> 16), 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
}

/** @returns the hash of bytes from..end; `view` is over the same bytes. */
export function hashBytes(bytes: Uint8Array, view: DataView, from: number, end: number): number {
  let hash = HASH_START;
  let i = from;
  for (; i + 4 <= end; i += 4) hash = hashWord(hash, view.getInt32(i, true));
  if (i < end) {
    let word = 0;
    for (let shift = 0; i < end; i++, shift += 8) word |= bytes[i] << shift;
    hash = hashWord(hash, word);
  }
  return hashEnd(hash, end - from);
}

const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);

/** @returns a hash of a number: equal for numbers that are the same value. */
export function hashNumber(value: number): number {
  double[0] = value;
  return hashEnd(hashWord(hashWord(HASH_START, halves[0]), halves[1]), 8);
}
