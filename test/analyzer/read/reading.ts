import type { Input } from '../../../analyzer/src/model/input.ts';
import { type ReadOptions, readInputs } from '../../../analyzer/src/read/index.ts';

/** Reads bytes through standard input, in chunks of a size: nothing may depend on how they are cut. */
export function readBytes(
  content: Uint8Array | string,
  chunkBytes = 64 << 10,
  options: ReadOptions = {},
): Promise<Input> {
  return readInputs(['-'], { ...options, stdin: chunks(Buffer.from(content as Uint8Array), chunkBytes) });
}

async function* chunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

/** A generator of pseudo-random numbers in 0..1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
