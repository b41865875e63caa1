/** Room behind the last byte, so that a scanner may read ahead. */
export const PADDING = 64;
const SMALLEST = 1 << 16;

const NEWLINE = 10;
const BOM = [0xef, 0xbb, 0xbf];

/**
 * The bytes of a stream that are not read yet, in one buffer that is used again and again, and the line they stand on.
 * They stand in start..end; positions are indexes into `bytes` and hold until the next append or cut.
 */
export class LineBuffer {
  bytes = Buffer.allocUnsafeSlow(SMALLEST);
  start = 0;
  end = 0;
  /** 1-based number of the line `start` stands on. */
  line = 1;
  /** True until the first byte of the stream has left the buffer. */
  atBeginning = true;
  /** No newline stands in start..#searched. */
  #searched = 0;

  get length(): number {
    return this.end - this.start;
  }

  append(chunk: Uint8Array): void {
    if (this.end + chunk.length + PADDING > this.bytes.length) {
      const kept = this.length;
      const size =
        kept + chunk.length > this.bytes.length / 2
          ? Math.max(this.bytes.length * 2, kept + chunk.length + PADDING)
          : this.bytes.length;
      const target = size > this.bytes.length ? Buffer.allocUnsafeSlow(size) : this.bytes;
      this.bytes.copy(target, 0, this.start, this.end);
      this.bytes = target;
      if (this.start > 0) this.atBeginning = false;
      this.#searched = Math.max(0, this.#searched - this.start);
      this.end = kept;
      this.start = 0;
    }
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
  }

  /** Takes bytes out; what stands before them stays. */
  cut(from: number, to: number): void {
    this.bytes.copyWithin(from, to, this.end);
    this.end -= to - from;
    this.#searched = this.start;
  }

  /** @returns the next newline at or after start, -1 when there is none yet. No byte is looked at twice. */
  newline(): number {
    const at = this.newlineFrom(Math.max(this.start, this.#searched));
    this.#searched = at < 0 ? this.end : at;
    return at;
  }

  newlineFrom(position: number): number {
    const at = this.bytes.indexOf(NEWLINE, position);
    return at < this.end ? at : -1;
  }

  /** Start moves forward, past newlines that are counted. */
  moveTo(position: number): void {
    for (let p = this.newlineFrom(this.start); p >= 0 && p < position; p = this.newlineFrom(p + 1))
      this.line++;
    this.start = position;
  }

  /** Start moves forward, with newlines counted by who walked over them. */
  jumpTo(position: number, newlines: number): void {
    this.line += newlines;
    this.start = position;
  }

  /**
   * Start moves past white space, byte order marks (at the start of a file, or where files with one were joined),
   * record separators, and where `commas` are allowed past those. @returns true when a newline was among them.
   */
  skipSpace(commas: boolean): boolean {
    const { bytes } = this;
    const line = this.line;
    let p = this.start;
    for (; p < this.end; p++) {
      const c = bytes[p];
      if (c === NEWLINE) this.line++;
      else if (c === BOM[0] && p + 2 < this.end && bytes[p + 1] === BOM[1] && bytes[p + 2] === BOM[2]) p += 2;
      else if (c !== 0x20 && c !== 0x0d && c !== 0x09 && c !== 0x1e && !(c === 0x2c && commas)) break;
    }
    this.start = p;
    return this.line > line;
  }

  /** @returns the position behind the last byte of start..end that is no space, tab or carriage return. */
  trimmedEnd(end: number): number {
    const { bytes } = this;
    let p = end;
    while (p > this.start && (bytes[p - 1] === 0x20 || bytes[p - 1] === 0x0d || bytes[p - 1] === 0x09)) p--;
    return p;
  }

  text(from: number, end: number): string {
    return this.bytes.toString('utf8', from, end);
  }
}
