import { isWord, LITERAL } from './json-bytes.ts';
import { closersOf, type Frame, isListOfRecords, isSplittable, LISTS, type Split } from './json-frames.ts';
import { quote } from './quote.ts';

/** What the last significant byte was; decides what may follow. */
const AFTER = { start: 0, openObject: 1, openArray: 2, comma: 3, colon: 4, value: 5, literal: 6 } as const;

/** Real exports nest about ten levels; beyond this the input is garbage or an attack. */
const MAX_DEPTH = 512;

const MAX_NUMBER_LENGTH = 400;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NEWLINE = 10;

/** Names are looked at only this deep: lists that can be split lie no deeper. */
const NAMED_DEPTH = 8;

/**
 * Walks over the bytes of one JSON value and knows what is open: enough to find its end, to read a value larger
 * than memory by the elements of its lists, and to keep the complete elements of one that is cut off.
 */
export class JsonSkeleton {
  readonly #frames: Frame[] = [];
  #after: number = AFTER.start;
  #inString = false;
  #escaped = false;
  #stringStart = 0;
  #stringEnd = 0;
  #literalStart = 0;
  /** Bytes walked, from the first byte of the value. */
  position = 0;
  newlines = 0;
  /** Why the value is broken. */
  fault = '';

  reset(): void {
    this.#frames.length = 0;
    this.#after = AFTER.start;
    this.#inString = false;
    this.#escaped = false;
    this.position = 0;
    this.newlines = 0;
    this.fault = '';
  }

  /** The bytes walked so far are gone: only the end of the value is still of interest. */
  forget(): void {
    this.position = 0;
    this.#stringStart = 0;
    this.#stringEnd = 0;
    this.#literalStart = 0;
    for (const frame of this.#frames) frame.spent.length = 0;
  }

  /** Walks on from `position` to `end`; the value's first byte is buffer[start]. */
  walk(buffer: Buffer, start: number, end: number): 'complete' | 'more' | 'broken' {
    let p = start + this.position;
    while (p < end) {
      if (this.#inString) {
        p = this.#walkString(buffer, start, p, end);
        if (this.fault !== '') return this.#broken(p - start);
        continue;
      }
      const c = buffer[p];
      if (c === NEWLINE) this.newlines++;
      if (c === 0x20 || c === NEWLINE || c === 0x0d || c === 0x09) {
        if (this.#after === AFTER.literal && !this.#endLiteral(p - start, buffer, start))
          return this.#broken(p - start);
        p++;
        continue;
      }
      if (!this.#step(c, p - start, buffer, start)) return this.#broken(p - start);
      p++;
      if (this.#frames.length === 0) {
        this.position = p - start;
        return 'complete';
      }
    }
    this.position = p - start;
    return 'more';
  }

  #broken(position: number): 'broken' {
    this.position = position;
    return 'broken';
  }

  /** @returns the position after the string, or `end` inside it. */
  #walkString(buffer: Buffer, start: number, from: number, end: number): number {
    let p = from;
    if (this.#escaped) {
      this.#escaped = false;
      p++;
    }
    for (; p < end; p++) {
      const c = buffer[p];
      if (c === QUOTE) {
        this.#inString = false;
        this.#after = AFTER.value;
        this.#stringEnd = p - start;
        this.#elementEnds(p + 1 - start);
        return p + 1;
      }
      if (c === BACKSLASH) {
        p++;
        if (p === end) this.#escaped = true;
      } else if (c === NEWLINE) {
        this.fault = 'the line ends inside a string';
        return p;
      }
    }
    return end;
  }

  /** Takes one significant byte outside strings. @returns false when it cannot stand here. */
  #step(c: number, position: number, buffer: Buffer, start: number): boolean {
    if (this.#after === AFTER.literal && !isWord(c) && !this.#endLiteral(position, buffer, start))
      return false;
    const after = this.#after;
    const top = this.#frames[this.#frames.length - 1];
    switch (c) {
      case QUOTE:
        if (after >= AFTER.value || after === AFTER.start) return this.#refuse(c);
        this.#inString = true;
        this.#stringStart = position + 1;
        return true;
      case 0x7b:
      case 0x5b:
        return this.#open(c === 0x5b, position, buffer, start);
      case 0x7d:
      case 0x5d:
        if (
          top === undefined ||
          top.list !== (c === 0x5d) ||
          after === AFTER.comma ||
          after === AFTER.colon
        ) {
          return this.#refuse(c);
        }
        this.#close(position);
        return true;
      case 0x3a:
        if (after !== AFTER.value || top === undefined || top.list) return this.#refuse(c);
        if (this.#frames.length <= NAMED_DEPTH) top.keys.push(this.#lastString(buffer, start));
        this.#after = AFTER.colon;
        return true;
      case 0x2c:
        if (after !== AFTER.value || top === undefined) return this.#refuse(c);
        if (!top.list) top.elementEnd = position;
        top.commaEnd = position + 1;
        this.#after = AFTER.comma;
        return true;
      default:
        return this.#literal(c, position);
    }
  }

  #literal(c: number, position: number): boolean {
    const after = this.#after;
    if (after === AFTER.literal) return true;
    if (!isWord(c) || after === AFTER.value || after === AFTER.start || after === AFTER.openObject)
      return this.#refuse(c);
    this.#literalStart = position;
    this.#after = AFTER.literal;
    return true;
  }

  /** A number, true, false or null ends before `position`. @returns false when it is none of these. */
  #endLiteral(position: number, buffer: Buffer, start: number): boolean {
    const end = Math.min(position, this.#literalStart + MAX_NUMBER_LENGTH);
    const text = buffer.toString('latin1', start + this.#literalStart, start + end);
    if (!LITERAL.test(text)) {
      this.fault = `unexpected ${quote(text, 20)}`;
      return false;
    }
    this.#after = AFTER.value;
    this.#elementEnds(position);
    return true;
  }

  #open(list: boolean, position: number, buffer: Buffer, start: number): boolean {
    const top = this.#frames[this.#frames.length - 1];
    const after = this.#after;
    const allowed =
      after === AFTER.start ||
      after === AFTER.openArray ||
      after === AFTER.colon ||
      (after === AFTER.comma && top.list);
    if (!allowed) return this.#refuse(list ? 0x5b : 0x7b);
    if (this.#frames.length === MAX_DEPTH) {
      this.fault = `nested deeper than ${MAX_DEPTH} levels`;
      return false;
    }
    const named = list && after === AFTER.colon && this.#frames.length <= NAMED_DEPTH;
    this.#frames.push({
      list,
      key: named ? this.#lastString(buffer, start) : '',
      contentStart: position + 1,
      elementEnd: 0,
      commaEnd: 0,
      keys: [],
      spent: [],
    });
    this.#after = list ? AFTER.openArray : AFTER.openObject;
    return true;
  }

  #close(position: number): void {
    const closed = this.#frames.pop() as Frame;
    const parent = this.#frames[this.#frames.length - 1];
    this.#after = AFTER.value;
    if (parent === undefined) return;
    if (closed.list && !parent.list && LISTS.has(closed.key)) {
      parent.spent.push({ from: closed.contentStart, to: position });
    }
    parent.elementEnd = position + 1;
  }

  #elementEnds(position: number): void {
    const top = this.#frames[this.#frames.length - 1];
    if (top?.list) top.elementEnd = position;
  }

  #lastString(buffer: Buffer, start: number): string {
    const length = this.#stringEnd - this.#stringStart;
    return length > 40 ? '' : buffer.toString('latin1', start + this.#stringStart, start + this.#stringEnd);
  }

  #refuse(c: number): false {
    this.fault = `unexpected ${c > 0x20 && c < 0x7f ? `"${String.fromCharCode(c)}"` : `byte ${c}`}`;
    return false;
  }

  /**
   * Finds the outermost list with finished elements. Those, with all that stands before them and `closers` behind,
   * are a complete document; then the ranges in `spent` (last first) are to be taken out of the buffer.
   * @returns null when no list can be split yet.
   */
  split(): Split | null {
    const depth = this.#frames.findIndex((frame, i) => frame.commaEnd > 0 && isSplittable(this.#frames, i));
    if (depth < 0) return null;
    const frame = this.#frames[depth];
    const end = frame.commaEnd - 1;
    const spent: (readonly [number, number])[] = [[frame.contentStart, frame.commaEnd]];
    for (let i = depth - 1; i >= 0; i--) {
      for (const range of this.#frames[i].spent.reverse()) spent.push([range.from, range.to]);
      this.#frames[i].spent.length = 0;
    }
    for (const [from, to] of spent) this.#shift(from, to - from);
    frame.elementEnd = 0;
    frame.commaEnd = 0;
    return { end, closers: closersOf(this.#frames, depth), spent };
  }

  #shift(after: number, by: number): void {
    this.position -= by;
    this.#stringStart -= by;
    this.#stringEnd -= by;
    this.#literalStart -= by;
    const moved = (position: number) => (position > after ? Math.max(after, position - by) : position);
    for (const frame of this.#frames) {
      frame.contentStart = moved(frame.contentStart);
      frame.elementEnd = moved(frame.elementEnd);
      frame.commaEnd = moved(frame.commaEnd);
      for (const range of frame.spent) {
        range.from = moved(range.from);
        range.to = moved(range.to);
      }
    }
  }

  /**
   * @returns what is complete of a value that is cut off or broken, as a document; null when nothing is. An object
   * begun counts only for the lists already finished in it: half a span is no span.
   */
  salvage(buffer: Buffer, start: number): string | null {
    for (let depth = this.#frames.length - 1; depth >= 0; depth--) {
      const frame = this.#frames[depth];
      if (
        frame.elementEnd === 0 ||
        !(frame.list ? isListOfRecords(this.#frames, depth) : frame.spent.length > 0)
      )
        continue;
      return buffer.toString('utf8', start, start + frame.elementEnd) + closersOf(this.#frames, depth);
    }
    return null;
  }
}
