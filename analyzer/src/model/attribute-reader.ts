import type { AttributeValue } from './attributes.ts';
import { TYPE } from './span-codes.ts';
import { attributeKey, type SpanTable, valueAt } from './span-table.ts';

const ABSENT = -1;

/**
 * One attribute of every row. Rows of one shape have it at the same place, so that a row costs two look-ups instead of
 * a search through its keys.
 */
export class AttributeReader {
  readonly #table: SpanTable;
  /** By shape: the entry of the key within the shape (the last of equal keys counts), or ABSENT. */
  readonly #entry: Int32Array;
  /** No row has it. */
  readonly isAbsent: boolean;

  constructor(table: SpanTable, key: string) {
    this.#table = table;
    const id = attributeKey(table, key);
    const { offset, key: keys } = table.attributeShapes;
    this.#entry = new Int32Array(offset.length - 1).fill(ABSENT);
    let found = false;
    for (let shape = 0; id >= 0 && shape < this.#entry.length; shape++) {
      for (let i = offset[shape + 1] - 1; i >= offset[shape]; i--) {
        if (keys[i] !== id) continue;
        this.#entry[shape] = i;
        found = true;
        break;
      }
    }
    this.isAbsent = !found;
  }

  /** @returns whether a row has it, whatever its value. */
  has(row: number): boolean {
    return this.#entry[this.#table.attributeShape[row]] >= 0;
  }

  /** @returns the string id of a text, -1 where the row has none. */
  textId(row: number): number {
    const entry = this.#entry[this.#table.attributeShape[row]];
    if (entry < 0 || this.#table.attributeShapes.type[entry] !== TYPE.string) return -1;
    return this.#table.attributeData[this.#at(row, entry)];
  }

  /** @returns the string id of the JSON of a list or an object, -1 where the row has none. */
  jsonId(row: number): number {
    const entry = this.#entry[this.#table.attributeShape[row]];
    if (entry < 0 || this.#table.attributeShapes.type[entry] !== TYPE.json) return -1;
    return this.#table.attributeData[this.#at(row, entry)];
  }

  /** @returns the text; empty where the row has none. */
  text(row: number): string {
    const id = this.textId(row);
    return id < 0 ? '' : this.#table.strings.text(id);
  }

  value(row: number): AttributeValue | undefined {
    const entry = this.#entry[this.#table.attributeShape[row]];
    return entry < 0 ? undefined : valueAt(this.#table, entry, this.#at(row, entry));
  }

  #at(row: number, entry: number): number {
    const { attributeOffset, attributeShape, attributeShapes } = this.#table;
    return attributeOffset[row] + entry - attributeShapes.offset[attributeShape[row]];
  }
}
