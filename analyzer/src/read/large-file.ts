import { type Bytes, counted, fileBytes } from './bytes.ts';
import type { Collector } from './collector.ts';
import type { JsonValues } from './json-values.ts';
import { lineRanges } from './line-ranges.ts';
import { type OnMessage, readLengthPrefixed } from './proto-records.ts';
import { FileRanges, type RangePool } from './range-pool.ts';
import { recordRanges } from './record-ranges.ts';

/** A plain file that is worth reading with several threads. */
export interface LargeFile {
  readonly path: string;
  readonly size: number;
  readonly pool: RangePool;
  /** Counts the bytes read, and tells how far it is. */
  readonly input: { bytes: number };
  readonly onBlock: (bytes: number) => void;
}

/**
 * Reads a file of JSON lines: threads read ranges of it ahead, and what they have read is merged in order, as if the
 * lines had been pushed into `values` one after the other. Lines they leave, and all that follows where a value does not
 * end with its range, are pushed.
 *
 * @param onLines called when a thread has read lines of OTLP.
 */
export async function readLineRanges(
  file: LargeFile,
  values: JsonValues,
  collector: Collector,
  onLines: () => void,
): Promise<void> {
  const ranges = new FileRanges(file.pool, file.path, file.size, lineRanges);
  let position = 0;
  const push = async (to: number): Promise<void> => {
    await withBytes(file, position, to, async (bytes) => {
      for await (const chunk of bytes) values.push(chunk);
    });
    position = to;
  };
  for (;;) {
    const read = await ranges.next();
    if (read === undefined) break;
    const first = read?.result.first ?? -1;
    // Nothing begins in it: its bytes go with those before.
    if (read !== null && first < 0) {
      read.done();
      continue;
    }
    if (first > position) await push(first);
    if (read === null || !values.isBetween) {
      await ranges.drop();
      break;
    }
    const { lines, values: count, part, end } = read.result;
    const { line } = values;
    values.skipLines(lines, count);
    collector.addPart(part, read.maps, (at) => ({ ...at, line: line + (at.line ?? 0) }));
    read.done();
    if (count > 0) onLines();
    file.input.bytes += end - position;
    file.onBlock(end - position);
    position = end;
  }
  // The file may have grown meanwhile.
  await push(Number.POSITIVE_INFINITY);
}

/**
 * Reads a file of length-prefixed records: threads read ranges of it ahead. What they leave is read as
 * {@link readLengthPrefixed} reads it.
 */
export async function readRecordRanges(
  file: LargeFile,
  collector: Collector,
  onMessage: OnMessage,
): Promise<void> {
  const ranges = new FileRanges(file.pool, file.path, file.size, recordRanges);
  let offset = 0;
  let record = 0;
  const readTo = (to: number): Promise<number> =>
    withBytes(file, offset, to, (bytes) =>
      readLengthPrefixed(bytes, collector, onMessage, { record, offset }),
    );
  for (;;) {
    const read = await ranges.next();
    if (read === undefined) break;
    if (read === null) {
      await ranges.drop();
      break;
    }
    const { values, part, end, to } = read.result;
    collector.addPart(part, read.maps, (at) => at);
    read.done();
    file.input.bytes += end - offset;
    file.onBlock(end - offset);
    record += values;
    offset = end;
    if (end === to) continue;
    record += await readTo(to);
    offset = to;
  }
  await readTo(Number.POSITIVE_INFINITY);
}

/** Hands the bytes from..to of a file to a reader. Where it gives up before their end, the file is closed all the same. */
async function withBytes<T>(
  { path, input, onBlock }: LargeFile,
  from: number,
  to: number,
  read: (bytes: Bytes) => Promise<T>,
): Promise<T> {
  const bytes = fileBytes(path, { reuse: true }, from, to);
  try {
    return await read(counted(bytes, input, onBlock));
  } finally {
    await bytes.return(undefined);
  }
}
