import { STILL_WRITTEN } from './collector.ts';
import type { Split } from './json-frames.ts';
import { JsonSkeleton } from './json-skeleton.ts';
import { type JsonHandler, type TornLine, ValueReader } from './json-value-reader.ts';
import { LineBuffer, PADDING } from './line-buffer.ts';
import { quote } from './quote.ts';

export type { TornLine } from './json-value-reader.ts';

/** A value larger than this is read in parts, cut between the elements of its lists. */
export const SPLIT_BYTES = 4 << 20;
/** A value that has no list to cut it at is given up at this size: it would not fit a JavaScript string for long. */
const MAX_VALUE_BYTES = 128 << 20;

const REQUEST_STARTS = ['{"resourceSpans"', '{"resourceMetrics"', '{"resourceLogs"'];

/**
 * Cuts a stream of bytes into JSON values, whatever separates them: JSON lines, concatenated or pretty-printed
 * documents, or one document larger than memory. What is broken costs as few lines as possible.
 *
 * A line that parses as a whole is a value. Only where that fails the bytes are walked one by one.
 */
export class JsonValues {
  readonly #reader: ValueReader;
  readonly #splitBytes: number;
  readonly #input = new LineBuffer();
  readonly #skeleton = new JsonSkeleton();
  #torn: TornLine | null;
  #mode: 'between' | 'walking' | 'skipping line' | 'skipping rest' | 'skipping value' = 'between';
  /** A value ended inside this line: the rest of the line is walked, or parsing it again and again is quadratic. */
  #walkLine = false;
  /** Why the value begun is broken, and how far it was walked. */
  #broken = { reason: '', at: 0 };
  /** Parts of the value begun were read already. */
  #inParts = false;

  constructor(handler: JsonHandler, torn: TornLine | null = null, splitBytes = SPLIT_BYTES) {
    this.#reader = new ValueReader(handler);
    this.#torn = torn;
    this.#splitBytes = splitBytes;
  }

  push(chunk: Uint8Array): void {
    this.#input.append(chunk);
    this.#run(false);
  }

  /** Ends the stream. @returns an unfinished last line, which the next file may complete. */
  end(): TornLine | null {
    this.#run(true);
    const rest = this.#mode === 'walking' ? this.#unfinished() : null;
    this.#reader.closeDebris();
    return rest;
  }

  /** Values handed over so far. */
  get values(): number {
    return this.#reader.values;
  }

  /** 1-based number of the line that comes next. */
  get line(): number {
    return this.#input.line;
  }

  /** True when all bytes so far are read: the next one begins a value. */
  get isBetween(): boolean {
    return this.#mode === 'between' && this.#input.length === 0;
  }

  /** Steps over lines somebody else has read, with so many values in them. */
  skipLines(lines: number, values: number): void {
    this.#input.line += lines;
    this.#reader.skip(values);
  }

  /** True when every value so far stood on one line. */
  lines = true;

  /** Hands back the torn line of the file before, once it is clear that this file does not complete it. */
  takeTorn(): TornLine | null {
    const torn = this.#torn;
    this.#torn = null;
    return torn;
  }

  #run(final: boolean): void {
    while (this.#step(final));
  }

  /** @returns false when more bytes are needed. */
  #step(final: boolean): boolean {
    switch (this.#mode) {
      case 'between':
        return this.#between(final);
      case 'walking':
        return this.#walk(final);
      case 'skipping line':
        return this.#skipLine(final);
      case 'skipping rest':
        return this.#skipRest();
      case 'skipping value':
        return this.#skipValue();
    }
  }

  /** Looks for the next value and reads whole lines. */
  #between(final: boolean): boolean {
    const input = this.#input;
    if (input.skipSpace(this.#reader.values > 0)) this.#walkLine = false;
    if (input.length === 0) return false;
    this.#reader.line = input.line;
    const first = input.bytes[input.start];
    const opens = first === 0x7b || first === 0x5b;
    let lineEnd = -1;
    if (!(opens && this.#walkLine)) {
      lineEnd = input.newline();
      if (lineEnd < 0 && final) lineEnd = input.end;
      if (lineEnd < 0 && input.length < this.#splitBytes) return false;
      if (lineEnd >= 0 && this.#wholeLine(lineEnd)) {
        input.moveTo(lineEnd);
        return true;
      }
    }
    this.#skeleton.reset();
    this.#inParts = false;
    if (opens) this.#mode = 'walking';
    else {
      const shown = input.text(input.start, Math.min(input.start + 12, lineEnd < 0 ? input.end : lineEnd));
      this.#breakLine(`not JSON: starts with ${quote(shown)}`, input.start);
    }
    return true;
  }

  /** Reads start..lineEnd as one value. @returns false when it is not one. */
  #wholeLine(lineEnd: number): boolean {
    const input = this.#input;
    if (this.#torn !== null && this.#completesTornLine(lineEnd)) return true;
    const end = input.trimmedEnd(lineEnd);
    const last = input.bytes[end - 1];
    if (last !== 0x7d && last !== 0x5d) return false;
    return this.#reader.read(input.bytes, input.start, end);
  }

  /** Only the first line of a file can do that. */
  #completesTornLine(lineEnd: number): boolean {
    const torn = this.#torn;
    if (torn === null || this.#input.line > 1 || !this.#input.atBeginning) return false;
    const whole = Buffer.concat([torn.bytes, this.#input.bytes.subarray(0, lineEnd)]);
    if (!this.#reader.parse(whole.toString('utf8'))) return false;
    this.#torn = null;
    return true;
  }

  /** Walks the bytes of a value that is not one line. */
  #walk(final: boolean): boolean {
    const input = this.#input;
    const skeleton = this.#skeleton;
    const state = skeleton.walk(input.bytes, input.start, input.end);
    const position = input.start + skeleton.position;
    if (state === 'complete') {
      if (this.#reader.read(input.bytes, input.start, position)) {
        if (skeleton.newlines > 0) this.lines = false;
        input.jumpTo(position, skeleton.newlines);
        this.#walkLine = true;
        this.#mode = 'between';
      } else this.#breakLine('not valid JSON', position);
      return true;
    }
    if (state === 'broken') {
      this.#breakLine(`not valid JSON: ${skeleton.fault}`, position);
      return true;
    }
    if (!final && input.length >= this.#splitBytes) this.#splitOff();
    return this.#mode !== 'walking';
  }

  /** Reads the list elements that are complete and takes them out of the buffer; what encloses them stays. */
  #splitOff(): void {
    const input = this.#input;
    const cut = this.#skeleton.split();
    if (cut === null) {
      if (input.length < MAX_VALUE_BYTES) return;
      const megabytes = MAX_VALUE_BYTES >> 20;
      const reason = `one value of more than ${megabytes} MB without a list to read it by: skipped`;
      this.#reader.broken(reason);
      this.#mode = 'skipping value';
      return;
    }
    this.#inParts = true;
    if (this.#skeleton.newlines > 0) this.lines = false;
    const { values } = this.#reader;
    if (!this.#part(cut)) this.#reader.broken('not valid JSON in part');
    // The parts of one value count as one, once its end is reached.
    this.#reader.values = values;
    for (const [from, to] of cut.spent) input.cut(input.start + from, input.start + to);
  }

  /** Reads what stands before a split, closed as if it were all. */
  #part({ end, closers }: Split): boolean {
    const { bytes, start } = this.#input;
    const length = end + closers.length;
    const part = Buffer.allocUnsafe(length + PADDING);
    bytes.copy(part, 0, start, start + end);
    part.write(closers, end, 'latin1');
    return this.#reader.read(part, 0, length);
  }

  #skipValue(): boolean {
    const input = this.#input;
    const skeleton = this.#skeleton;
    const state = skeleton.walk(input.bytes, input.start, input.end);
    input.start += skeleton.position;
    skeleton.forget();
    if (state === 'more') return false;
    input.line += skeleton.newlines;
    if (state === 'complete') this.#mode = 'between';
    else this.#breakLine(`not valid JSON: ${skeleton.fault}`, input.start);
    return true;
  }

  #breakLine(reason: string, at: number): void {
    // The buffer may move before the end of the line is there: the place is kept relative to start.
    this.#broken = { reason, at: at - this.#input.start };
    this.#mode = 'skipping line';
  }

  /** Gives up the value begun and goes on after the line where it broke. */
  #skipLine(final: boolean): boolean {
    const input = this.#input;
    const newline = input.newlineFrom(input.start + this.#broken.at);
    if (newline < 0 && !final && input.length < this.#splitBytes) return false;
    this.#recover(newline < 0 ? input.end : newline);
    this.#mode = newline < 0 && !final ? 'skipping rest' : 'between';
    return true;
  }

  /** A broken line too long to hold: it has been reported, and nothing more is read of it. */
  #skipRest(): boolean {
    const input = this.#input;
    const newline = input.newlineFrom(input.start);
    input.start = newline < 0 ? input.end : newline;
    if (newline >= 0) this.#mode = 'between';
    return newline >= 0;
  }

  /** Reads what can be read of the lines from start to end, of which at least one is broken. */
  #recover(end: number): void {
    const input = this.#input;
    const { reason } = this.#broken;
    const first = input.line;
    const document = this.#inParts || this.#skeleton.newlines > 0;
    const salvage = document ? this.#skeleton.salvage(input.bytes, input.start) : null;
    const bad: number[] = [];
    let good = 0;
    while (input.start < end) {
      const newline = input.newlineFrom(input.start);
      const lineEnd = newline < 0 || newline > end ? end : newline;
      this.#reader.line = input.line;
      if (this.#lineOrItsTail(lineEnd)) good++;
      else if (input.trimmedEnd(lineEnd) > input.start) bad.push(input.line);
      input.moveTo(lineEnd < end ? lineEnd + 1 : lineEnd);
    }
    if (this.#reader.hasDebris) this.#reader.debrisUpTo(input.line);
    else if (good === 0 && document) {
      // No line stands alone: a document. Its complete records are kept, and what follows is its debris.
      this.#reader.line = first;
      if (salvage !== null) this.#reader.take(salvage);
      this.#reader.openDebris(first, input.line, reason);
    } else for (const line of bad) this.#reader.broken(reason, { line });
  }

  /** A process killed in mid-line and started again leaves a whole record behind the torn one. */
  #lineOrItsTail(lineEnd: number): boolean {
    const { bytes, start } = this.#input;
    let end = this.#input.trimmedEnd(lineEnd);
    if (bytes[end - 1] === 0x2c) end--;
    if (end <= start || bytes[end - 1] !== 0x7d) return false;
    if (bytes[start] === 0x7b && this.#reader.take(this.#input.text(start, end)) === 'known') return true;
    const line = bytes.subarray(start + 1, end);
    const tail = Math.max(...REQUEST_STARTS.map((text) => line.lastIndexOf(text)));
    if (tail < 0 || this.#reader.take(this.#input.text(start + 1 + tail, end)) !== 'known') return false;
    const reason = `${this.#broken.reason} (torn; a whole record follows on the same line)`;
    this.#reader.broken(reason);
    return true;
  }

  /** The input ended inside a value. */
  #unfinished(): TornLine | null {
    const input = this.#input;
    const document = this.#inParts || this.#skeleton.newlines > 0;
    const salvage =
      document || this.#reader.values === 0 ? this.#skeleton.salvage(input.bytes, input.start) : null;
    const { at } = this.#reader;
    if (!document) return { bytes: Buffer.from(input.bytes.subarray(input.start, input.end)), at, salvage };
    const what = this.#inParts ? 'unfinished document' : `unfinished document of ${input.length} bytes`;
    if (salvage !== null && this.#reader.take(salvage) === 'known')
      this.#reader.unfinished(at, `${what} ${SALVAGED}`);
    else if (this.#inParts) this.#reader.unfinished(at, what);
    else {
      this.#broken = { reason: `${what}: ${STILL_WRITTEN}`, at: 0 };
      this.#recover(input.end);
      if (this.#reader.dropDebris(this.#broken.reason)) {
        this.#reader.unfinished(at, what);
      }
    }
    return null;
  }
}

export const SALVAGED = '(its complete records are read)';
