import type { Transform } from 'node:stream';
import type { Bytes } from './bytes.ts';

/** Bytes a decoder gives at a time, at most. */
export const OUTPUT_BYTES = 256 << 10;
/** Bytes handed to the decoder at a time: small, for their result is held in memory whatever it expands to. */
const STEP = 16 << 10;
/** After a step that expanded more than this many times the steps become small. */
const STEEP = 100;
const SMALL_STEP = 512;

/**
 * Drives a decompression stream step by step and yields everything it gave before it ended or failed.
 *
 * (Piped, a failing stream throws away what it has not handed over yet: the good part would be lost.)
 * Throws the decoder's error at the end. Returns early where the compressed data ends before the source does.
 */
export async function* unpack(source: Bytes, decoder: Transform): AsyncGenerator<Buffer> {
  let out: Buffer[] = [];
  let failure: Error | null = null;
  let ended = false;
  // A failed write never calls back: whatever happens first goes on.
  let wake = () => {};
  decoder.on('data', (chunk: Buffer) => out.push(chunk));
  decoder.on('error', (error) => {
    failure = error;
    wake();
  });
  decoder.on('end', () => {
    ended = true;
    wake();
  });
  const until = (act: (done: () => void) => void) =>
    new Promise<void>((resolve) => {
      wake = resolve;
      act(resolve);
    });
  let step = STEP;
  try {
    for await (const chunk of source) {
      for (let from = 0; from < chunk.length && failure === null && !ended; ) {
        const piece = chunk.subarray(from, from + step);
        from += piece.length;
        await until((done) => decoder.write(piece, () => done()));
        let bytes = 0;
        for (const part of out) bytes += part.length;
        step = bytes > piece.length * STEEP ? SMALL_STEP : STEP;
        const ready = out;
        out = [];
        yield* ready;
      }
      if (failure !== null || ended) break;
    }
    if (failure === null && !ended) {
      await until(() => decoder.end());
    }
    yield* out;
    if (failure !== null) throw failure;
  } finally {
    decoder.destroy();
  }
}
