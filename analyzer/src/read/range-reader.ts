import { closeSync, openSync, readSync } from 'node:fs';
import { type CollectedPart, Collector } from './collector.ts';
import { isOtlp, readJsonValue } from './json-shapes.ts';
import { SPLIT_BYTES } from './json-values.ts';
import { PADDING } from './line-buffer.ts';
import { OtlpLineScanner } from './otlp-line-scan.ts';
import { isObject } from './otlp-values.ts';
import { parseJson } from './parse-json.ts';
import { RecordRangeReader } from './record-range.ts';

/** A part of a file: the JSON lines whose first byte stands in from..to, or the length-prefixed records in it. */
export interface Range {
  readonly path: string;
  readonly from: number;
  readonly to: number;
  /** Number of the first record; null for lines. */
  readonly records: { readonly first: number } | null;
}

/** What was read of a range. */
export interface RangeResult {
  /** Where the first line or record begins; -1 where none does. */
  readonly first: number;
  /**
   * Where the first begins that was not read: in the next range, or one that is not a plain export request, which with
   * all behind it is left to the reader of the whole file, who knows every format.
   */
  readonly end: number;
  /** Where the range ends. */
  readonly to: number;
  /** Lines from `first` to `end` (0 for records). */
  readonly lines: number;
  /** Lines that are not blank, or records. */
  readonly values: number;
  /** What they hold; positions count lines from 0, records as they are. */
  readonly part: CollectedPart;
}

type Walked = Omit<RangeResult, 'part' | 'to'>;

const READ_BYTES = 1 << 20;
/** Read at a time to find the end of a line that goes on behind the range. */
const TAIL_BYTES = 1 << 17;
/** After this many texts, or distinct traces, numbering starts afresh: both stand in the merged table too. */
const MAX_NUMBERED = 1 << 17;
/** With more things rejected a range is left to the reader that lists them as they come. */
const MAX_REJECTED = 1000;

const NEWLINE = 10;

/** Reads ranges of files one after the other; what is numbered once keeps its number from range to range. */
export class RangeReader {
  readonly #fast: boolean;
  readonly #keep: ReadonlySet<string> | null;
  #collector: Collector;
  #scanner: OtlpLineScanner;
  #bytes = Buffer.allocUnsafeSlow(2 * READ_BYTES + PADDING);
  readonly #records = new RecordRangeReader();
  #file = -1;
  #path = '';

  constructor(fast: boolean, keep: ReadonlySet<string> | null) {
    this.#fast = fast;
    this.#keep = keep;
    this.#collector = new Collector(fast, keep);
    this.#scanner = new OtlpLineScanner(this.#collector.builder);
  }

  /** Numbers everything afresh: what was handed over so far may have been thrown away. */
  restart(): void {
    this.#collector = new Collector(this.#fast, this.#keep);
    this.#scanner = new OtlpLineScanner(this.#collector.builder);
  }

  /** @param buffer for the columns, to be used again. */
  read(range: Range, buffer: ArrayBuffer | null): RangeResult {
    const { strings, traces } = this.#collector.builder.counts;
    if (strings > MAX_NUMBERED || traces > MAX_NUMBERED) this.restart();
    this.#open(range.path);
    const walked =
      range.records === null ? this.#lines(range) : this.#readRecords(range, range.records.first);
    return { ...walked, to: range.to, part: this.#collector.takePart(buffer) };
  }

  close(): void {
    if (this.#file >= 0) closeSync(this.#file);
    this.#file = -1;
    this.#path = '';
  }

  #open(path: string): void {
    if (path === this.#path) return;
    this.close();
    this.#file = openSync(path, 'r');
    this.#path = path;
  }

  #readRecords({ from, to }: Range, first: number): Walked {
    return { first: from, lines: 0, ...this.#records.read(this.#file, { from, to, first }, this.#collector) };
  }

  #lines({ from, to }: Range): Walked {
    /** Of bytes[0] in the file. */
    let base = from - 1;
    let length = 0;
    let start = 0;
    let searched = 0;
    let first = -1;
    let lines = 0;
    let values = 0;
    for (;;) {
      const newline = this.#bytes.subarray(0, length).indexOf(NEWLINE, searched);
      if (newline < 0) {
        // Before the first line nothing is kept; what goes on beyond `to` began before `from`.
        if (first < 0) start = length;
        if (first < 0 && base + length >= to) return { first, end: to, lines, values };
        if (length - start > SPLIT_BYTES) return { first, end: base + start, lines, values };
        base += start;
        length -= start;
        this.#makeRoom(start, length);
        start = 0;
        searched = length;
        const position = base + length;
        const wanted = position < to ? Math.min(READ_BYTES, to - position) : TAIL_BYTES;
        const read = readSync(this.#file, this.#bytes, length, wanted, position);
        if (read === 0) return { first, end: base, lines, values };
        length += read;
        continue;
      }
      searched = newline + 1;
      if (first < 0) first = base + newline + 1;
      else {
        const kind = this.#line(start, newline, lines);
        if (kind === 'other') return { first, end: base + start, lines, values };
        lines++;
        if (kind === 'value') values++;
      }
      start = newline + 1;
      const next = base + start;
      if (next >= to) return { first: first < to ? first : -1, end: next, lines, values };
      if (this.#collector.rejectedTotal > MAX_REJECTED) return { first, end: next, lines, values };
    }
  }

  /** Moves the bytes from `start` on to the beginning, with room to read more behind them. */
  #makeRoom(start: number, length: number): void {
    const needed = length + READ_BYTES + PADDING;
    if (needed <= this.#bytes.length) {
      this.#bytes.copyWithin(0, start, start + length);
      return;
    }
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, start, start + length);
    this.#bytes = larger;
  }

  #line(from: number, newline: number, line: number): 'value' | 'blank' | 'other' {
    const bytes = this.#bytes;
    let end = newline;
    while (end > from && (bytes[end - 1] === 0x0d || bytes[end - 1] === 0x20 || bytes[end - 1] === 0x09))
      end--;
    if (end === from) return 'blank';
    if (bytes[from] !== 0x7b || bytes[end - 1] !== 0x7d || end - from > SPLIT_BYTES) return 'other';
    if (this.#fast && this.#scanner.scan(bytes, from, end)) return 'value';
    let value: unknown;
    try {
      value = parseJson(bytes.toString('utf8', from, end));
    } catch {
      return 'other';
    }
    if (!isObject(value) || !isOtlp(value)) return 'other';
    const collector = this.#collector;
    const error = collector.attempt(() => {
      readJsonValue(value, collector, { line });
    });
    return error === null ? 'value' : 'other';
  }
}
