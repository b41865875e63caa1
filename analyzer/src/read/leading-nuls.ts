import type { Bytes } from './bytes.ts';

/** More zero bytes than any framing of records begins with. */
const MIN_RUN = 32;

/**
 * A log that is rotated by copying and truncating it, under a writer that does not append, goes on at its old
 * length: what was before are zero bytes.
 *
 * @returns whether a file begins so.
 */
export function beginsWithNuls(head: Buffer): boolean {
  return head.length >= MIN_RUN && head.subarray(0, MIN_RUN).every((byte) => byte === 0);
}

/**
 * @param onSkipped told how many bytes were zero, before the first one that is not is passed on.
 * @returns the bytes behind the zeros.
 */
export async function* withoutLeadingNuls(
  source: Bytes,
  onSkipped: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let skipped = 0;
  let isPast = false;
  for await (const chunk of source) {
    if (isPast) {
      yield chunk;
      continue;
    }
    const first = chunk.findIndex((byte) => byte !== 0);
    skipped += first < 0 ? chunk.length : first;
    if (first < 0) continue;
    isPast = true;
    onSkipped(skipped);
    yield chunk.subarray(first);
  }
  if (!isPast) onSkipped(skipped);
}
