import { hashBytes } from '../model/content-hash.ts';
import type { SpanTableBuilder } from '../model/span-table-builder.ts';
import { readAnyValue } from './otlp-proto-values.ts';
import { ProtoFields, WIRE } from './proto-wire.ts';

/** Keys are told apart by this many lower bits of their ids; a collision costs a miss. */
const GUESSES = 4096;

/** Adds the attributes of spans to the row a builder opened last, without an object or a JavaScript text for any. */
export class ProtoAttributes {
  readonly #builder: SpanTableBuilder;
  readonly #pair = ProtoFields.of(Buffer.alloc(0));
  readonly #value = ProtoFields.of(Buffer.alloc(0));
  /** The key that came after a key last, and the text it had last: most often it is the same again. */
  readonly #keyAfter = new Uint32Array(GUESSES);
  readonly #textOf = new Uint32Array(GUESSES);

  constructor(builder: SpanTableBuilder) {
    this.#builder = builder;
  }

  /** Reads the `KeyValue` a span's fields stand at. @returns its key, to be handed in with the next one. */
  add(span: ProtoFields, keyBefore: number): number {
    const { attributes } = this.#builder;
    const pair = this.#pair.enter(span);
    const value = this.#value;
    let key = 0;
    let hasValue = false;
    while (pair.next()) {
      if (pair.is(1, WIRE.bytes)) key = this.#text(pair, this.#keyAfter, keyBefore);
      else if (pair.is(2, WIRE.bytes)) {
        value.enter(pair);
        hasValue = true;
      } else pair.skip();
    }
    if (!hasValue || !value.next()) attributes.add(key, null);
    else if (!value.is(1, WIRE.bytes) || !value.isLast) attributes.add(key, readAnyValue(value, 0, true));
    else if (attributes.keeps(key)) attributes.addText(key, this.#text(value, this.#textOf, key));
    else {
      const from = value.bytesFrom();
      attributes.dropText(key, hashBytes(value.buffer, value.view, from, value.end));
    }
    return key;
  }

  /** @returns the string id of a text field; the guess is compared before anything is hashed. */
  #text(fields: ProtoFields, guesses: Uint32Array, key: number): number {
    const { strings } = this.#builder;
    const slot = key & (GUESSES - 1);
    const from = fields.bytesFrom();
    const guess = guesses[slot];
    const length = fields.end - from;
    if (length > 0 && strings.lengthAt(guess, fields.buffer, fields.view, from) === length) return guess;
    const id = strings.internBytes(fields.buffer, fields.view, from, fields.end);
    guesses[slot] = id;
    return id;
  }
}
