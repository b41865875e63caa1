import type { AttributeColumns } from '../model/attribute-columns.ts';
import type { SpanTableBuilder } from '../model/span-table-builder.ts';
import type { StringPool } from '../model/strings.ts';
import { AttributeGuesses } from './attribute-guesses.ts';
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

/** How a value is spelled. */
const KIND = { other: 0, text: 1, quotedInteger: 2, integer: 3, boolean: 4, double: 5 } as const;

const POWERS_OF_TEN = Array.from({ length: 16 }, (_, power) => 10 ** power);

/** As JSON spells it; true, false and null are none. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Scans the `attributes` of a span into the row its builder opened last. */
export class OtlpAttributeScanner {
  readonly #json: JsonBytes;
  readonly #columns: AttributeColumns;
  readonly #strings: StringPool;
  readonly #guesses = new AttributeGuesses();
  /** String id of the key read last. */
  #key = 0;
  /** Where the value found last begins: behind its quote, where it has one. */
  #value = 0;

  constructor(json: JsonBytes, builder: SpanTableBuilder) {
    this.#json = json;
    this.#columns = builder.attributes;
    this.#strings = builder.strings;
  }

  /** @param name string id of the span's name, as far as known: spans of one name have the same keys. */
  attributes(from: number, name: number): number {
    const json = this.#json;
    const guesses = this.#guesses;
    const { bytes, view } = json;
    if (bytes[from] !== 0x5b) return UNKNOWN;
    let p = from + 1;
    if (bytes[p] === 0x5d) return p + 1;
    let node = guesses.start(name);
    for (;;) {
      const begin = p;
      const next = guesses.after(node, bytes, view, begin);
      p = UNKNOWN;
      if (next >= 0) {
        node = next;
        p = this.#guessed(begin + guesses.lengthOf(next), next);
      }
      if (p < 0) {
        const object = this.#afterKey(begin);
        if (object < 0) return UNKNOWN;
        const key = this.#key;
        const kind = this.#kindOf(object);
        node = guesses.learn(node, key, kind, bytes, begin, this.#value);
        if (kind !== KIND.other) p = this.#simple(this.#value, key, kind, node);
        if (p < 0) p = this.#other(object, key);
      }
      if (p < 0 || bytes[p] !== 0x7d) return UNKNOWN;
      p++;
      if (bytes[p] === 0x2c) p++;
      else return bytes[p] === 0x5d ? p + 1 : UNKNOWN;
    }
  }

  /** Reads the value at `from` of the attribute a node stands for. @returns the position after its object, or UNKNOWN. */
  #guessed(from: number, node: number): number {
    const { bytes, view } = this.#json;
    const guesses = this.#guesses;
    const columns = this.#columns;
    const key = guesses.key[node];
    const same = guesses.sameValue(node, bytes, view, from);
    if (same > 0) {
      columns.again(key, guesses.addedType[node], guesses.addedData[node]);
      guesses.hit(node);
      return from + same;
    }
    const end = this.#simple(from, key, guesses.kind[node], node);
    if (end >= 0) guesses.remember(node, bytes, from, end, columns.addedType, columns.addedData);
    return end;
  }

  /** Reads the key of the attribute at `p` into #key. @returns where its value begins. */
  #afterKey(p: number): number {
    const { bytes, view } = this.#json;
    if (view.getInt32(p, true) !== W.key || view.getInt32(p + 4, true) !== W.y) return UNKNOWN;
    const end = this.#json.stringEnd(p + 8);
    if (end < 0) return UNKNOWN;
    this.#key = this.text(p + 8, end);
    if (view.getInt32(end + 1, true) !== W.va || view.getInt32(end + 5, true) !== W.lue) return UNKNOWN;
    return bytes[end + 9] === 0x3a && bytes[end + 10] === 0x7b ? end + 10 : UNKNOWN;
  }

  /** @returns how the value in the object at `from` is spelled; where it begins stands in #value then. */
  #kindOf(from: number): number {
    const { bytes, view } = this.#json;
    const p = from + 2;
    this.#value = from;
    if (bytes[from + 1] !== 0x22) return KIND.other;
    switch (view.getInt32(p, true)) {
      case W.stri:
        if (view.getInt32(p + 4, true) !== W.ngVa || view.getInt32(p + 8, true) !== W.lue) return KIND.other;
        if (bytes[p + 12] !== 0x3a || bytes[p + 13] !== 0x22) return KIND.other;
        this.#value = p + 14;
        return KIND.text;
      case W.intV: {
        if (view.getInt32(p + 4, true) !== W.alue || bytes[p + 8] !== 0x22 || bytes[p + 9] !== 0x3a)
          return KIND.other;
        const quoted = bytes[p + 10] === 0x22;
        this.#value = quoted ? p + 11 : p + 10;
        return quoted ? KIND.quotedInteger : KIND.integer;
      }
      case W.bool:
        if (view.getInt32(p + 4, true) !== W.Valu || bytes[p + 8] !== 0x65 || bytes[p + 9] !== 0x22)
          return KIND.other;
        if (bytes[p + 10] !== 0x3a) return KIND.other;
        this.#value = p + 11;
        return KIND.boolean;
      case W.doub:
        if (view.getInt32(p + 4, true) !== W.leVa || view.getInt32(p + 8, true) !== W.lue) return KIND.other;
        if (bytes[p + 12] !== 0x3a) return KIND.other;
        this.#value = p + 13;
        return KIND.double;
      default:
        return KIND.other;
    }
  }

  /** Adds a value of one of the simple kinds. @returns the position after its object, UNKNOWN where it is spelled otherwise. */
  #simple(from: number, key: number, kind: number, node: number): number {
    switch (kind) {
      case KIND.text:
        return this.#columns.keeps(key) ? this.#keptText(from, key, node) : this.#droppedText(from, key);
      case KIND.quotedInteger:
        return this.#integer(from, true, key);
      case KIND.integer:
        return this.#integer(from, false, key);
      case KIND.boolean:
        return this.#boolean(from, key);
      default:
        return this.#double(from, key);
    }
  }

  /** A list, a map, bytes or an unusual spelling. */
  #other(object: number, key: number): number {
    const end = this.#json.valueEnd(object);
    if (end >= 0) this.#columns.add(key, decodeAnyValue(this.#json.parse(object, end), 0));
    return end;
  }

  /**
   * The text it had last is compared before anything is searched or hashed: a text stored without escapes has no quote
   * in it, so it ends where one follows.
   */
  #keptText(from: number, key: number, node: number): number {
    const { bytes, view } = this.#json;
    const guess = this.#guesses.text[node];
    if (guess !== 0) {
      const length = this.#strings.lengthAt(guess, bytes, view, from);
      if (length > 0 && bytes[from + length] === 0x22 && bytes[from + length + 1] === 0x7d) {
        this.#columns.addText(key, guess);
        return from + length + 2;
      }
    }
    const end = this.#json.stringEnd(from);
    if (end < 0 || bytes[end + 1] !== 0x7d) return UNKNOWN;
    const id = this.text(from, end);
    if (!this.#json.escaped) this.#guesses.text[node] = id;
    this.#columns.addText(key, id);
    return end + 2;
  }

  /** Steps over a text that is not kept. */
  #droppedText(from: number, key: number): number {
    const json = this.#json;
    const end = json.stringEnd(from);
    if (end < 0 || json.bytes[end + 1] !== 0x7d) return UNKNOWN;
    const text = json.escaped ? (json.parse(from - 1, end + 1) as string) : null;
    this.#columns.dropText(key, text === null ? json.hash : this.#strings.hashOfText(text));
    return end + 2;
  }

  #boolean(p: number, key: number): number {
    const { bytes, view } = this.#json;
    const word = view.getInt32(p, true);
    if (word === W.true && bytes[p + 4] === 0x7d) {
      this.#columns.add(key, true);
      return p + 5;
    }
    if (word !== W.fals || bytes[p + 4] !== 0x65 || bytes[p + 5] !== 0x7d) return UNKNOWN;
    this.#columns.add(key, false);
    return p + 6;
  }

  #double(from: number, key: number): number {
    const { bytes } = this.#json;
    const end = this.#json.literalEnd(from);
    if (end < 0 || bytes[end] !== 0x7d) return UNKNOWN;
    const short = this.#shortDecimal(from, end);
    if (short >= 0) {
      this.#columns.addNumber(key, short);
      return end + 1;
    }
    const number = bytes.toString('latin1', from, end);
    if (!NUMBER.test(number)) return UNKNOWN;
    this.#columns.addNumber(key, Number(number));
    return end + 1;
  }

  /**
   * Up to 15 digits with a point among them: both the digits and the power of ten are exact, so that one division
   * rounds right (Clinger, How to read floating point numbers accurately, 1990). @returns -1 for any other number.
   */
  #shortDecimal(from: number, end: number): number {
    const { bytes } = this.#json;
    if (end - from > 16 || end - from < 3) return -1;
    if (bytes[from] === 0x30 && bytes[from + 1] !== 0x2e) return -1;
    let digits = 0;
    let point = -1;
    for (let p = from; p < end; p++) {
      const digit = bytes[p] - 0x30;
      if (digit >= 0 && digit <= 9) digits = digits * 10 + digit;
      else if (bytes[p] === 0x2e && point < 0 && p > from) point = p;
      else return -1;
    }
    const decimals = end - 1 - point;
    return point < 0 || decimals === 0 ? -1 : digits / POWERS_OF_TEN[decimals];
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

  /** @returns the string id of the text between two quotes, which the JSON bytes have just stepped over. */
  text(from: number, end: number): number {
    const json = this.#json;
    if (!json.escaped) return this.#strings.internHashed(json.bytes, json.view, from, end, json.hash);
    return this.#strings.intern(json.parse(from - 1, end + 1) as string);
  }
}
