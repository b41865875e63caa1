import type { AttributeColumns } from '../model/attribute-columns.ts';
import type { SpanTableBuilder } from '../model/span-table-builder.ts';
import type { StringPool } from '../model/strings.ts';
import { type JsonBytes, UNKNOWN, word } from './json-bytes.ts';
import { decodeAnyValue } from './otlp-values.ts';

const W = {
  key: word('{"ke'),
  y: word('y":"'),
  va: word(',"va'),
  lue: word('lue"'),
  stri: word('stri'),
  ngVa: word('ngVa'),
  intV: word('intV'),
  alue: word('alue'),
  bool: word('bool'),
  Valu: word('Valu'),
  doub: word('doub'),
  leVa: word('leVa'),
  true: word('true'),
  fals: word('fals'),
} as const;

/** As JSON spells it; true, false and null are none. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Keys are told apart by this many lower bits of their ids; a collision costs a miss. */
const GUESSES = 4096;

/** Scans the `attributes` of a span into the row its builder opened last. */
export class OtlpAttributeScanner {
  readonly #json: JsonBytes;
  readonly #columns: AttributeColumns;
  readonly #strings: StringPool;
  /** The key that came after a key last, and the text it had last: most often it is the same again. */
  readonly #keyAfter = new Uint32Array(GUESSES);
  #id = 0;
  readonly #textOf = new Uint32Array(GUESSES);

  constructor(json: JsonBytes, builder: SpanTableBuilder) {
    this.#json = json;
    this.#columns = builder.attributes;
    this.#strings = builder.strings;
  }

  attributes(from: number): number {
    const json = this.#json;
    const { bytes, view } = json;
    if (bytes[from] !== 0x5b) return UNKNOWN;
    let p = from + 1;
    let key = 0;
    if (bytes[p] === 0x5d) return p + 1;
    for (;;) {
      if (view.getInt32(p, true) !== W.key || view.getInt32(p + 4, true) !== W.y) return UNKNOWN;
      p = this.#guessedText(p + 8, this.#keyAfter, key & (GUESSES - 1));
      if (p < 0) return UNKNOWN;
      key = this.#id;
      if (view.getInt32(p, true) !== W.va || view.getInt32(p + 4, true) !== W.lue || bytes[p + 8] !== 0x3a)
        return UNKNOWN;
      const value = p + 9;
      if (bytes[value] !== 0x7b) return UNKNOWN;
      p = this.#value(value, key);
      if (p === UNKNOWN) {
        // A list, a map, bytes or an unusual spelling.
        p = json.valueEnd(value);
        if (p < 0) return UNKNOWN;
        this.#columns.add(key, decodeAnyValue(json.parse(value, p), 0));
      }
      if (bytes[p] !== 0x7d) return UNKNOWN;
      p++;
      if (bytes[p] === 0x2c) p++;
      else return bytes[p] === 0x5d ? p + 1 : UNKNOWN;
    }
  }

  /** Adds a value of one of the four simple types. @returns the position after its object, UNKNOWN for all others. */
  #value(from: number, key: number): number {
    const json = this.#json;
    const { bytes, view } = json;
    if (bytes[from + 1] !== 0x22) return UNKNOWN;
    const p = from + 2;
    switch (view.getInt32(p, true)) {
      case W.stri: {
        if (view.getInt32(p + 4, true) !== W.ngVa || view.getInt32(p + 8, true) !== W.lue) return UNKNOWN;
        if (bytes[p + 12] !== 0x3a || bytes[p + 13] !== 0x22) return UNKNOWN;
        if (!this.#columns.keeps(key)) return this.#droppedText(p + 14, key);
        const end = this.#guessedText(p + 14, this.#textOf, key & (GUESSES - 1));
        if (end < 0 || bytes[end] !== 0x7d) return UNKNOWN;
        this.#columns.addText(key, this.#id);
        return end + 1;
      }
      case W.intV: {
        if (view.getInt32(p + 4, true) !== W.alue || bytes[p + 8] !== 0x22 || bytes[p + 9] !== 0x3a)
          return UNKNOWN;
        const quoted = bytes[p + 10] === 0x22;
        return this.#integer(quoted ? p + 11 : p + 10, quoted, key);
      }
      case W.bool:
        if (view.getInt32(p + 4, true) !== W.Valu || bytes[p + 8] !== 0x65 || bytes[p + 9] !== 0x22)
          return UNKNOWN;
        if (bytes[p + 10] !== 0x3a) return UNKNOWN;
        if (view.getInt32(p + 11, true) === W.true && bytes[p + 15] === 0x7d) {
          this.#columns.add(key, true);
          return p + 16;
        }
        if (view.getInt32(p + 11, true) !== W.fals || bytes[p + 15] !== 0x65 || bytes[p + 16] !== 0x7d)
          return UNKNOWN;
        this.#columns.add(key, false);
        return p + 17;
      case W.doub: {
        if (
          view.getInt32(p + 4, true) !== W.leVa ||
          view.getInt32(p + 8, true) !== W.lue ||
          bytes[p + 12] !== 0x3a
        ) {
          return UNKNOWN;
        }
        const end = json.literalEnd(p + 13);
        if (end < 0 || bytes[end] !== 0x7d) return UNKNOWN;
        const number = bytes.toString('latin1', p + 13, end);
        if (!NUMBER.test(number)) return UNKNOWN;
        this.#columns.addNumber(key, Number(number));
        return end + 1;
      }
      default:
        return UNKNOWN;
    }
  }

  /** Up to 15 digits, which a double holds. */
  #integer(from: number, quoted: boolean, key: number): number {
    const { bytes } = this.#json;
    let p = from;
    const negative = bytes[p] === 0x2d;
    if (negative) p++;
    const first = p;
    let value = 0;
    for (let digit = bytes[p] - 0x30; digit >= 0 && digit <= 9; digit = bytes[p] - 0x30) {
      value = value * 10 + digit;
      p++;
    }
    const digits = p - first;
    if (digits === 0 || digits > 15 || (digits > 1 && bytes[first] === 0x30) || (negative && value === 0))
      return UNKNOWN;
    if (quoted) {
      if (bytes[p] !== 0x22) return UNKNOWN;
      p++;
    }
    if (bytes[p] !== 0x7d) return UNKNOWN;
    this.#columns.addNumber(key, negative ? -value : value);
    return p + 1;
  }

  /** Steps over a text that is not kept. @returns the position after the value it stands in. */
  #droppedText(from: number, key: number): number {
    const json = this.#json;
    const end = json.stringEnd(from);
    if (end < 0 || json.bytes[end + 1] !== 0x7d) return UNKNOWN;
    const text = json.escaped ? (json.parse(from - 1, end + 1) as string) : null;
    this.#columns.dropText(key, text === null ? json.hash : this.#strings.hashOfText(text));
    return end + 2;
  }

  /**
   * Reads a string whose content begins at `from`; its id is in #id then. The guess is compared before anything is
   * searched or hashed: a text stored without escapes has no quote in it, so it ends where one follows.
   * @returns the position after the closing quote.
   */
  #guessedText(from: number, guesses: Uint32Array, slot: number): number {
    const json = this.#json;
    const guess = guesses[slot];
    if (guess !== 0) {
      const length = this.#strings.lengthAt(guess, json.bytes, json.view, from);
      if (length > 0 && json.bytes[from + length] === 0x22) {
        this.#id = guess;
        return from + length + 1;
      }
    }
    const end = json.stringEnd(from);
    if (end < 0) return UNKNOWN;
    this.#id = this.text(from, end);
    if (!json.escaped) guesses[slot] = this.#id;
    return end + 1;
  }

  /** @returns the string id of the text between two quotes, which the JSON bytes have just stepped over. */
  text(from: number, end: number): number {
    const json = this.#json;
    if (!json.escaped) return this.#strings.internHashed(json.bytes, json.view, from, end, json.hash);
    return this.#strings.intern(json.parse(from - 1, end + 1) as string);
  }
}
