import type { Range } from './range-reader.ts';

/**
 * @returns ranges of `bytes` each. The first line is in none: it may begin with a byte order mark, or end a line of
 * another file, which the reader of the whole file knows.
 */
export function* lineRanges(path: string, size: number, bytes: number): Generator<Range> {
  for (let from = 1; from < size; from += bytes) {
    yield { path, from, to: Math.min(size, from + bytes), records: null };
  }
}
