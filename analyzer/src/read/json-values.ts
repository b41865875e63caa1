import { type Position, STILL_WRITTEN } from './collector.ts';
import { unknownReason } from './json-shapes.ts';
import { JsonSkeleton } from './json-skeleton.ts';
import { parseJson } from './parse-json.ts';
import { quote } from './quote.ts';

/** A value larger than this is read in parts, cut between the elements of its lists. */
const SPLIT_BYTES = 4 << 20;
/** A value that has no list to cut it at is given up at this size: it would not fit a JavaScript string for long. */
const MAX_VALUE_BYTES = 128 << 20;

const REQUEST_STARTS = ['{"resourceSpans"', '{"resourceMetrics"', '{"resourceLogs"'];

/** Room behind the last byte, so that a scanner may read ahead. */
const PADDING = 64;

const NEWLINE = 10;
const BOM = [0xef, 0xbb, 0xbf];

export interface JsonHandler {
  /** Takes one parsed value. Returns false when its format is unknown. */
  value(value: unknown, at: Position): boolean;
  /** Takes one line as bytes, ahead of JSON.parse. Returns false to have it parsed. */
  line?(buffer: Buffer, from: number, to: number, at: Position): boolean;
  broken(at: Position, reason: string): void;
  /** The input ends inside `what`. */
  unfinished(at: Position, what: string): void;
}

/** The start of a line whose rest may stand at the beginning of the next file. */
export interface TornLine {
  /** The file it ends; set by who knows it. */
  readonly file?: string;
  readonly bytes: Buffer;
  readonly at: Position;
  /** Its complete records as a document, where the file holds nothing else. */
  readonly salvage: string | null;
}

/**
 * Cuts a stream of bytes into JSON values, whatever separates them: JSON lines, concatenated or pretty-printed
 * documents, or one document larger than memory. What is broken costs as few lines as possible.
 *
 * A line that parses as a whole is a value. Only where that fails the bytes are walked one by one.
 */
export class JsonValues {
  readonly #handler: JsonHandler;
  readonly #splitBytes: number;
  readonly #skeleton = new JsonSkeleton();
  #torn: TornLine | null;
  #buffer = Buffer.allocUnsafe(1 << 16);
  /** Bytes of the value begun stand in start..end; no newline that matters stands before scan. */
  #start = 0;
  #scan = 0;
  #end = 0;
  /** Bytes cut out of or dropped before the buffer, so that offsets of the file can be told. */
  #dropped = 0;
  #line = 1;
  #valueLine = 1;
  #mode: 'between' | 'walking' | 'skipping line' | 'skipping rest' | 'skipping value' = 'between';
  /** A value ended inside this line: the rest of the line is walked, or parsing it again and again is quadratic. */
  #walkLine = false;
  #brokenReason = '';
  /** Debris of a broken document, reported as one. */
  #badRun: { line: number; lastLine: number; reason: string } | null = null;
  #unknown = '';
  #inParts = false;
  #values = 0;

  constructor(handler: JsonHandler, torn: TornLine | null = null, splitBytes = SPLIT_BYTES) {
    this.#handler = handler;
    this.#torn = torn;
    this.#splitBytes = splitBytes;
  }

  push(chunk: Uint8Array): void {
    this.#append(chunk);
    this.#run(false);
  }

  /** Ends the stream. @returns an unfinished last line, which the next file may complete. */
  end(): TornLine | null {
    this.#run(true);
    const rest = this.#mode === 'walking' ? this.#unfinished() : null;
    this.#closeBadRun();
    return rest;
  }

  /** Values handed over so far. */
  get values(): number {
    return this.#values;
  }

  /** True when every value so far stood on one line. */
  lines = true;

  /** Hands back the torn line of the file before, once it is clear that this file does not complete it. */
  takeTorn(): TornLine | null {
    const torn = this.#torn;
    this.#torn = null;
    return torn;
  }

  #append(chunk: Uint8Array): void {
    if (this.#end + chunk.length + PADDING > this.#buffer.length) {
      const kept = this.#end - this.#start;
      const room = Math.max(this.#buffer.length, 1 << 16);
      const size = kept + chunk.length > room / 2 ? Math.max(room * 2, kept + chunk.length + PADDING) : room;
      const target = size > this.#buffer.length ? Buffer.allocUnsafe(size) : this.#buffer;
      this.#buffer.copy(target, 0, this.#start, this.#end);
      this.#buffer = target;
      this.#dropped += this.#start;
      this.#scan -= this.#start;
      this.#end = kept;
      this.#start = 0;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  #run(final: boolean): void {
    for (;;) {
      switch (this.#mode) {
        case 'between':
          if (!this.#between(final)) return;
          break;
        case 'walking':
          if (!this.#walk(final)) return;
          break;
        case 'skipping line':
          if (!this.#skipLine(final)) return;
          break;
        case 'skipping rest':
          if (!this.#skipRest()) return;
          break;
        case 'skipping value':
          if (!this.#skipValue()) return;
          break;
      }
    }
  }

  /** Looks for the next value and reads whole lines. @returns false when more bytes are needed. */
  #between(final: boolean): boolean {
    this.#skipSpace();
    if (this.#start === this.#end) return false;
    this.#valueLine = this.#line;
    const first = this.#buffer[this.#start];
    const opens = first === 0x7b || first === 0x5b;
    let lineEnd = -1;
    if (!(opens && this.#walkLine)) {
      const newline = this.#nextNewline();
      lineEnd = newline < 0 && final ? this.#end : newline;
      if (lineEnd < 0 && this.#end - this.#start < this.#splitBytes) return false;
      if (lineEnd >= 0 && this.#wholeLine(lineEnd)) {
        this.#moveTo(lineEnd);
        return true;
      }
    }
    this.#skeleton.reset();
    this.#inParts = false;
    if (opens) this.#mode = 'walking';
    else
      this.#breakLine(
        `not JSON: starts with ${quoteBytes(this.#buffer, this.#start, lineEnd < 0 ? this.#end : lineEnd)}`,
      );
    return true;
  }

  #skipSpace(): void {
    const buffer = this.#buffer;
    let p = this.#start;
    for (; p < this.#end; p++) {
      const c = buffer[p];
      // At the start of a file, or where files with one were joined.
      if (c === BOM[0] && p + 2 < this.#end && buffer[p + 1] === BOM[1] && buffer[p + 2] === BOM[2]) p += 2;
      else if (c === NEWLINE) {
        this.#line++;
        this.#walkLine = false;
      } else if (c !== 0x20 && c !== 0x0d && c !== 0x09 && c !== 0x1e && !(c === 0x2c && this.#values > 0))
        break;
    }
    this.#start = p;
    this.#scan = Math.max(this.#scan, p);
  }

  /** @returns the next newline at or after start, -1 when there is none yet. No byte is looked at twice. */
  #nextNewline(): number {
    const at = this.#buffer.indexOf(NEWLINE, this.#scan);
    if (at >= 0 && at < this.#end) {
      this.#scan = at;
      return at;
    }
    this.#scan = this.#end;
    return -1;
  }

  /** Reads start..lineEnd as one value. @returns false when it is not one. */
  #wholeLine(lineEnd: number): boolean {
    const at = this.#position();
    if (this.#torn !== null && this.#completesTornLine(lineEnd)) return true;
    const end = trimmedEnd(this.#buffer, this.#start, lineEnd);
    const last = this.#buffer[end - 1];
    if (last !== 0x7d && last !== 0x5d) return false;
    if (this.#handler.line?.(this.#buffer, this.#start, end, at)) {
      this.#good();
      return true;
    }
    return this.#parse(this.#buffer.toString('utf8', this.#start, end), at);
  }

  /** Only the first line of a file can do that. */
  #completesTornLine(lineEnd: number): boolean {
    const torn = this.#torn;
    if (torn === null || this.#line > 1 || this.#dropped > 0) return false;
    const whole = Buffer.concat([torn.bytes, this.#buffer.subarray(0, lineEnd)]);
    if (!this.#parse(whole.toString('utf8'), this.#position())) return false;
    this.#torn = null;
    return true;
  }

  /** @returns false when the text is no JSON. A value of unknown format is reported here. */
  #parse(text: string, at: Position): boolean {
    const fate = this.#take(text, at);
    if (fate === 'unknown' && this.#badRun === null) this.#handler.broken(at, this.#unknown);
    return fate !== 'invalid';
  }

  #take(text: string, at: Position): 'known' | 'unknown' | 'invalid' {
    let value: unknown;
    try {
      value = parseJson(text);
    } catch {
      return 'invalid';
    }
    if (this.#handler.value(value, at)) {
      this.#good();
      return 'known';
    }
    this.#unknown = unknownReason(value);
    return 'unknown';
  }

  #good(): void {
    this.#closeBadRun();
    this.#values++;
  }

  /** Walks the bytes of a value that is not one line. @returns false when more bytes are needed. */
  #walk(final: boolean): boolean {
    const skeleton = this.#skeleton;
    const state = skeleton.walk(this.#buffer, this.#start, this.#end);
    this.#scan = this.#start + skeleton.position;
    if (state === 'complete') {
      if (this.#parse(this.#buffer.toString('utf8', this.#start, this.#scan), this.#position())) {
        if (skeleton.newlines > 0) this.lines = false;
        this.#line += skeleton.newlines;
        this.#walkLine = true;
        this.#start = this.#scan;
        this.#mode = 'between';
      } else this.#breakLine('not valid JSON');
      return true;
    }
    if (state === 'broken') {
      this.#breakLine(`not valid JSON: ${skeleton.fault}`);
      return true;
    }
    if (!final && this.#end - this.#start >= this.#splitBytes) this.#splitOff();
    return this.#mode !== 'walking';
  }

  /** Reads the list elements that are complete and takes them out of the buffer; what encloses them stays. */
  #splitOff(): void {
    const cut = this.#skeleton.split(this.#buffer, this.#start);
    if (cut === null) {
      if (this.#end - this.#start < MAX_VALUE_BYTES) return;
      const megabytes = MAX_VALUE_BYTES >> 20;
      this.#handler.broken(
        this.#position(),
        `one value of more than ${megabytes} MB without a list to read it by: skipped`,
      );
      this.#mode = 'skipping value';
      return;
    }
    this.#inParts = true;
    if (this.#skeleton.newlines > 0) this.lines = false;
    const values = this.#values;
    if (!this.#parse(cut.text, this.#position()))
      this.#handler.broken(this.#position(), 'not valid JSON in part');
    // The parts of one value count as one, once its end is reached.
    this.#values = values;
    for (const [from, to] of cut.spent) {
      this.#buffer.copyWithin(this.#start + from, this.#start + to, this.#end);
      this.#dropped += to - from;
      this.#end -= to - from;
    }
    this.#scan = this.#start + this.#skeleton.position;
  }

  #skipValue(): boolean {
    const state = this.#skeleton.walk(this.#buffer, this.#start, this.#end);
    this.#start += this.#skeleton.position;
    this.#scan = this.#start;
    this.#skeleton.forget();
    if (state === 'more') return false;
    this.#line += this.#skeleton.newlines;
    if (state === 'complete') this.#mode = 'between';
    else this.#breakLine(`not valid JSON: ${this.#skeleton.fault}`);
    return true;
  }

  #breakLine(reason: string): void {
    this.#brokenReason = reason;
    this.#mode = 'skipping line';
  }

  /** Gives up the value begun and goes on after the line where it broke. @returns false when more bytes are needed. */
  #skipLine(final: boolean): boolean {
    let end = this.#buffer.indexOf(NEWLINE, Math.max(this.#scan, this.#start));
    if (end < 0 || end >= this.#end) {
      if (!final && this.#end - this.#start < this.#splitBytes) return false;
      end = this.#end;
    }
    this.#recover(end);
    if (end === this.#end && !final) this.#mode = 'skipping rest';
    return true;
  }

  /** A broken line too long to hold: it has been reported, and nothing more is read of it. */
  #skipRest(): boolean {
    const newline = this.#buffer.indexOf(NEWLINE, this.#start);
    const found = newline >= 0 && newline < this.#end;
    this.#start = found ? newline : this.#end;
    this.#scan = this.#start;
    if (found) this.#mode = 'between';
    return found;
  }

  /** Reads what can be read of the lines from start to end, of which at least one is broken. */
  #recover(end: number): void {
    const first = { line: this.#line };
    const document = this.#inParts || this.#skeleton.newlines > 0;
    const salvage = document ? this.#skeleton.salvage(this.#buffer, this.#start) : null;
    const bad: number[] = [];
    let good = 0;
    while (this.#start < end) {
      const newline = this.#buffer.indexOf(NEWLINE, this.#start);
      const lineEnd = newline < 0 || newline > end ? end : newline;
      this.#valueLine = this.#line;
      if (this.#lineOrItsTail(lineEnd)) good++;
      else if (trimmedEnd(this.#buffer, this.#start, lineEnd) > this.#start) bad.push(this.#line);
      this.#moveTo(lineEnd < end ? lineEnd + 1 : lineEnd);
    }
    this.#mode = 'between';
    if (this.#badRun !== null) this.#badRun.lastLine = this.#line;
    else if (good === 0 && document) {
      // No line stands alone: a document. Its complete records are kept, and what follows is its debris.
      if (salvage !== null) this.#take(salvage, first);
      this.#badRun = { ...first, lastLine: this.#line, reason: this.#brokenReason };
    } else for (const line of bad) this.#handler.broken({ line }, this.#brokenReason);
  }

  /** A process killed in mid-line and started again leaves a whole record behind the torn one. */
  #lineOrItsTail(lineEnd: number): boolean {
    const buffer = this.#buffer;
    let end = trimmedEnd(buffer, this.#start, lineEnd);
    if (buffer[end - 1] === 0x2c) end--;
    if (end <= this.#start || buffer[end - 1] !== 0x7d) return false;
    if (
      buffer[this.#start] === 0x7b &&
      this.#take(buffer.toString('utf8', this.#start, end), this.#position()) === 'known'
    ) {
      return true;
    }
    const line = buffer.subarray(this.#start + 1, end);
    const tail = Math.max(...REQUEST_STARTS.map((text) => line.lastIndexOf(text)));
    if (tail < 0) return false;
    const text = buffer.toString('utf8', this.#start + 1 + tail, end);
    if (this.#take(text, this.#position()) !== 'known') return false;
    this.#handler.broken(
      this.#position(),
      `${this.#brokenReason} (torn; a whole record follows on the same line)`,
    );
    return true;
  }

  #closeBadRun(): void {
    const run = this.#badRun;
    if (run === null) return;
    this.#badRun = null;
    const more = run.lastLine > run.line ? ` (with the lines up to ${run.lastLine})` : '';
    this.#handler.broken({ line: run.line }, `${run.reason}${more}`);
  }

  /** Start moves to `to`; lines passed are counted. */
  #moveTo(to: number): void {
    for (let p = this.#buffer.indexOf(NEWLINE, this.#start); p >= 0 && p < to; ) {
      this.#line++;
      p = this.#buffer.indexOf(NEWLINE, p + 1);
    }
    this.#start = to;
    this.#scan = to;
  }

  /** The input ended inside a value. */
  #unfinished(): TornLine | null {
    const bytes = this.#end - this.#start;
    const document = this.#inParts || this.#skeleton.newlines > 0;
    const salvage = document || this.#values === 0 ? this.#skeleton.salvage(this.#buffer, this.#start) : null;
    const at = this.#position();
    if (!document) return { bytes: Buffer.from(this.#buffer.subarray(this.#start, this.#end)), at, salvage };
    const what = this.#inParts ? 'unfinished document' : `unfinished document of ${bytes} bytes`;
    if (salvage !== null && this.#take(salvage, at) === 'known')
      this.#handler.unfinished(at, `${what} ${SALVAGED}`);
    else if (this.#inParts) this.#handler.unfinished(at, what);
    else {
      this.#brokenReason = `${what}: ${STILL_WRITTEN}`;
      this.#recover(this.#end);
      if (this.#badRun?.reason === this.#brokenReason) {
        this.#badRun = null;
        this.#handler.unfinished(at, what);
      }
    }
    return null;
  }

  #position(): Position {
    return { line: this.#valueLine };
  }
}

export const SALVAGED = '(its complete records are read)';

function trimmedEnd(buffer: Buffer, start: number, end: number): number {
  let p = end;
  while (p > start && (buffer[p - 1] === 0x20 || buffer[p - 1] === 0x0d || buffer[p - 1] === 0x09)) p--;
  return p;
}

function quoteBytes(buffer: Buffer, from: number, end: number): string {
  return quote(buffer.toString('utf8', from, Math.min(from + 12, end)));
}
