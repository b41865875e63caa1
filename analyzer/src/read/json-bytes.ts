import { HASH_START, hashEnd, hashWord } from '../model/content-hash.ts';
import { parseJson } from './parse-json.ts';

/** What a method returns instead of a position where the bytes are not what it knows. */
export const UNKNOWN = -1;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** A number, true, false or null, as JSON spells them. */
export const LITERAL = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** Value of two hexadecimal digits by their bytes, read little-endian; negative for any others. */
const HEX_PAIR = new Int16Array(1 << 16).fill(-1);
for (const high of hexDigits()) {
  for (const low of hexDigits()) {
    HEX_PAIR[high.byte | (low.byte << 8)] = high.value * 16 + low.value;
  }
}

function hexDigits(): { readonly byte: number; readonly value: number }[] {
  return Array.from('0123456789abcdefABCDEF', (digit) => ({
    byte: digit.charCodeAt(0),
    value: Number.parseInt(digit, 16),
  }));
}

/** Four ASCII characters as the number a little-endian read of them gives. */
export function word(text: string): number {
  return Buffer.from(text, 'latin1').readInt32LE(0);
}

/** @returns four bytes with the upper bit set in the lowest that is a quote, a backslash or below 0x20 (above it perhaps, too). */
function special(four: number): number {
  const quote = four ^ 0x22222222;
  const slash = four ^ 0x5c5c5c5c;
  return ((quote - 0x01010101) & ~quote) | ((slash - 0x01010101) & ~slash) | ((four - 0x20202020) & ~four);
}

/** Steps over JSON without white space, byte by byte. Positions are indexes into the buffer set last. */
export class JsonBytes {
  bytes: Buffer = Buffer.alloc(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  /** True when the string stepped over last holds a backslash. */
  escaped = false;
  /** Hash (model/content-hash.ts) of the string stepped over last, where it holds no backslash. */
  hash = 0;
  /** False when an id read since it was set to true held a character that is no hex digit. */
  hexOk = true;

  setBuffer(buffer: Buffer): void {
    if (buffer === this.bytes) return;
    this.bytes = buffer;
    this.view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
  }

  /** @returns the position of the closing quote of a string whose content begins at p; UNKNOWN at a control character. */
  stringEnd(from: number): number {
    const { bytes, view } = this;
    const last = bytes.length - 4;
    let p = from;
    let hash = HASH_START;
    this.escaped = false;
    // Nothing to be found in eight bytes is what happens most.
    for (; p <= last - 4; p += 8) {
      const first = view.getInt32(p, true);
      const second = view.getInt32(p + 4, true);
      if (((special(first) | special(second)) & 0x80808080) !== 0) break;
      hash = hashWord(hashWord(hash, first), second);
    }
    while (p <= last) {
      const four = view.getInt32(p, true);
      const hit = special(four) & 0x80808080;
      if (hit === 0) {
        hash = hashWord(hash, four);
        p += 4;
        continue;
      }
      const before = (31 - Math.clz32(hit & -hit)) & 0x18;
      p += before >> 3;
      const c = bytes[p];
      if (c === QUOTE) {
        if (before > 0) hash = hashWord(hash, four & ((1 << before) - 1));
        this.hash = hashEnd(hash, p - from);
        return p;
      }
      if (c !== BACKSLASH) return UNKNOWN;
      this.escaped = true;
      p += 2;
    }
    return UNKNOWN;
  }

  /** @returns the position after a value of any kind, without a look inside; UNKNOWN where none ends. */
  valueEnd(from: number): number {
    const { bytes } = this;
    const first = bytes[from];
    if (first === QUOTE) {
      const end = this.stringEnd(from + 1);
      return end < 0 ? UNKNOWN : end + 1;
    }
    if (first !== 0x7b && first !== 0x5b) return this.literalEnd(from);
    let depth = 0;
    for (let p = from; p < bytes.length; p++) {
      const c = bytes[p];
      if (c === QUOTE) {
        p = this.stringEnd(p + 1);
        if (p < 0) return UNKNOWN;
      } else if (c === 0x7b || c === 0x5b) depth++;
      else if (c === 0x7d || c === 0x5d) {
        if (--depth === 0) return p + 1;
      } else if (c <= 0x20) return UNKNOWN;
    }
    return UNKNOWN;
  }

  /** @returns the position of the `,`, `}` or `]` behind a number, true, false or null. */
  literalEnd(from: number): number {
    const { bytes } = this;
    for (let p = from; p < bytes.length; p++) {
      const c = bytes[p];
      if (c === 0x2c || c === 0x7d || c === 0x5d) return p === from ? UNKNOWN : p;
      if (c <= 0x20 || c === QUOTE || c > 0x7a) return UNKNOWN;
    }
    return UNKNOWN;
  }

  /** @returns the position after a value that is not kept, once JSON.parse has agreed that it is one. */
  skipValue(from: number): number {
    const end = this.valueEnd(from);
    if (end < 0) return UNKNOWN;
    const first = this.bytes[from];
    if (first === QUOTE && !this.escaped) return end;
    if (first === QUOTE || first === 0x7b || first === 0x5b) this.parse(from, end);
    else if (!this.#isCount(from, end) && !LITERAL.test(this.bytes.toString('latin1', from, end)))
      return UNKNOWN;
    return end;
  }

  /** A whole number without sign and leading zero, as flags and counts are. */
  #isCount(from: number, end: number): boolean {
    const { bytes } = this;
    if (bytes[from] === 0x30) return end === from + 1;
    for (let p = from; p < end; p++) if (bytes[p] < 0x30 || bytes[p] > 0x39) return false;
    return true;
  }

  /** @returns the position of the value behind the key at p; UNKNOWN when it may be a proto name. */
  valueAfterKey(p: number): number {
    const { bytes } = this;
    if (bytes[p] !== 0x22) return UNKNOWN;
    const end = this.stringEnd(p + 1);
    if (end < 0 || this.escaped || bytes[end + 1] !== 0x3a) return UNKNOWN;
    for (let i = p + 1; i < end; i++) if (bytes[i] === 0x5f) return UNKNOWN;
    return end + 2;
  }

  /** The key at p, whose end {@link valueAfterKey} has found. */
  isKey(p: number, name: string): boolean {
    const { bytes } = this;
    if (bytes[p + 1 + name.length] !== 0x22) return false;
    for (let i = 0; i < name.length; i++) if (bytes[p + 1 + i] !== name.charCodeAt(i)) return false;
    return true;
  }

  /** Throws where the bytes are no JSON. */
  parse(from: number, end: number): unknown {
    return parseJson(this.bytes.toString('utf8', from, end));
  }

  /** @returns eight hex digits as a number; clears {@link hexOk} when they are not. */
  hex8(p: number): number {
    const { view } = this;
    const a = HEX_PAIR[view.getUint16(p, true)];
    const b = HEX_PAIR[view.getUint16(p + 2, true)];
    const c = HEX_PAIR[view.getUint16(p + 4, true)];
    const d = HEX_PAIR[view.getUint16(p + 6, true)];
    if ((a | b | c | d) < 0) this.hexOk = false;
    return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
  }

  /** @returns `digits` decimal digits as a number, UNKNOWN when they are not. */
  decimal(from: number, digits: number): number {
    const { bytes } = this;
    let value = 0;
    let p = from;
    for (; p + 4 <= from + digits; p += 4) {
      const four = this.#fourDigits(p);
      if (four < 0) return UNKNOWN;
      value = value * 10_000 + four;
    }
    for (; p < from + digits; p++) {
      const digit = bytes[p] - 0x30;
      if (digit < 0 || digit > 9) return UNKNOWN;
      value = value * 10 + digit;
    }
    return value;
  }

  /** Four at once: each byte must be 0x30 to 0x39, that is have the upper half of 0x30, also with 6 added. */
  #fourDigits(p: number): number {
    const four = this.view.getInt32(p, true);
    if ((four & 0xf0f0f0f0) !== 0x30303030 || ((four + 0x06060606) & 0xf0f0f0f0) !== 0x30303030)
      return UNKNOWN;
    const digits = four & 0x0f0f0f0f;
    const pairs = digits * 10 + (digits >>> 8);
    return (pairs & 0xff) * 100 + ((pairs >>> 16) & 0xff);
  }
}

/** Whether a byte can stand in a number, true, false or null. */
export function isWord(c: number): boolean {
  return (
    (c >= 0x30 && c <= 0x39) ||
    (c >= 0x61 && c <= 0x7a) ||
    c === 0x2d ||
    c === 0x2b ||
    c === 0x2e ||
    c === 0x45
  );
}
