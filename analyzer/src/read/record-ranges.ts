import { closeSync, openSync, readSync } from 'node:fs';
import { MAX_RECORD_BYTES } from './proto-records.ts';
import type { Range } from './range-reader.ts';

/** Holds the lengths of many small records; of a large one it is little to read in vain. */
const WINDOW_BYTES = 4 << 10;

/**
 * Walks over the lengths of length-prefixed records. @returns ranges of whole records of about `bytes` each, as they are
 * asked for; it ends where a record does not fit the file.
 */
export function* recordRanges(path: string, size: number, bytes: number): Generator<Range> {
  const file = openSync(path, 'r');
  const window = Buffer.allocUnsafe(WINDOW_BYTES);
  let begin = 0;
  let length = 0;
  /** @returns the length at a position, -1 where the file ends before. Small records are many to a window. */
  const lengthAt = (position: number): number => {
    if (position + 4 > begin + length) {
      begin = position;
      length = readSync(file, window, 0, WINDOW_BYTES, position);
    }
    return position + 4 > begin + length ? -1 : window.readUInt32BE(position - begin);
  };
  try {
    let from = 0;
    let record = 0;
    for (let to = 0, records = 0; ; records++) {
      const next = lengthAt(to);
      const isWhole = next >= 0 && next <= MAX_RECORD_BYTES && to + 4 + next <= size;
      if (isWhole) to += 4 + next;
      if (to - from >= bytes || (!isWhole && to > from)) {
        yield { path, from, to, records: { first: record } };
        record += isWhole ? records + 1 : records;
        from = to;
        records = -1;
      }
      if (!isWhole) return;
    }
  } finally {
    closeSync(file);
  }
}
