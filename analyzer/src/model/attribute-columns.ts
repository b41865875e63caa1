import { type AttributeShapes, AttributeShapesBuilder } from './attribute-shapes.ts';
import type { AttributeValue } from './attributes.ts';
import { hashNumber } from './content-hash.ts';
import { grown, grownLength } from './growing.ts';
import { type Memory, ownMemory } from './shared-memory.ts';
import { encodeValue, TYPE } from './span-codes.ts';
import type { StringPool } from './strings.ts';
import type { BlockMaps, BlockPacker } from './table-block.ts';

/** A state of {@link AttributeColumns} it can go back to. */
export interface AttributeMark {
  readonly values: number;
  readonly numbers: number;
}

/** The attributes of the rows of a block, in the numbers of the table they were read into. */
export interface AttributeBlock {
  readonly shape: Uint32Array;
  readonly offset: Uint32Array;
  readonly rest: Uint32Array;
  readonly data: Uint32Array;
  readonly numbers: Float64Array;
}

const KEPT = 1;
const DROPPED = 2;

/** Stands for a type where a value was not kept. */
const NOT_KEPT = 0xfe;
/** Stands for a type where a value cannot be added {@link AttributeColumns.again}. */
export const ONCE = 0xff;

/**
 * The attributes of all rows while a table grows: those of the row begun last are pending until it is closed.
 *
 * Where only some keys are kept, the others leave a hash behind, the same in whatever order they came: enough to
 * tell copies of one span apart.
 */
export class AttributeColumns {
  readonly #strings: StringPool;
  readonly #keep: ReadonlySet<string> | null;
  /** KEPT or DROPPED by string id of the key, 0 where nobody has asked yet. */
  #fate = new Uint8Array(256);
  readonly #shapes = new AttributeShapesBuilder();
  readonly #memory: Memory;
  #shape: Uint32Array;
  #offset: Uint32Array;
  #rest: Uint32Array;
  #data: Uint32Array;
  #values = 0;
  #numbers: Float64Array;
  #numbersLength = 0;
  #pending = 0;
  #pendingKey = new Uint32Array(64);
  #pendingType = new Uint8Array(64);
  #pendingRest = 0;
  /** What {@link again} needs to add the value added last once more. */
  addedType: number = ONCE;
  addedData = 0;

  /**
   * @param keep the keys whose values are kept; null: all.
   * @param memory what the columns lie in
   */
  constructor(strings: StringPool, keep: ReadonlySet<string> | null, memory: Memory = ownMemory) {
    this.#strings = strings;
    this.#keep = keep;
    this.#memory = memory;
    this.#shape = this.#words(1024);
    this.#offset = this.#words(1025);
    this.#rest = this.#words(1024);
    this.#data = this.#words(8192);
    this.#numbers = this.#doubles(1024);
  }

  /** @returns whether the values of a key are kept. */
  keeps(key: number): boolean {
    if (this.#keep === null) return true;
    const fate = key < this.#fate.length ? this.#fate[key] : 0;
    return (fate === 0 ? this.#learn(key, this.#keep) : fate) === KEPT;
  }

  #learn(key: number, keep: ReadonlySet<string>): number {
    if (key >= this.#fate.length) {
      this.#fate = grown(this.#fate, new Uint8Array(Math.max(key + 1, this.#fate.length * 2)));
    }
    return (this.#fate[key] = keep.has(this.#strings.text(key)) ? KEPT : DROPPED);
  }

  /** Room for rows up to `capacity`. */
  growRows(capacity: number): void {
    this.#shape = grown(this.#shape, this.#words(capacity));
    this.#offset = grown(this.#offset, this.#words(capacity + 1));
    this.#rest = grown(this.#rest, this.#words(capacity));
  }

  reserveValues(values: number): void {
    if (this.#values + values <= this.#data.length) return;
    this.#data = grown(this.#data, this.#words(this.#values + values));
  }

  open(row: number): void {
    this.#values = this.#offset[row];
    this.#pending = 0;
    this.#pendingRest = 0;
  }

  close(row: number): void {
    this.#shape[row] = this.#shapes.of(this.#pendingKey, this.#pendingType, this.#pending);
    this.#offset[row + 1] = this.#values;
    this.#rest[row] = this.#pendingRest;
  }

  /** Adds an attribute, by the string id of its key, to the row begun. */
  add(key: number, value: AttributeValue): void {
    if (typeof value === 'number') this.addNumber(key, value);
    else if (typeof value === 'string') {
      if (this.keeps(key)) this.addText(key, this.#strings.intern(value));
      else this.dropText(key, this.#strings.hashOfText(value));
    } else if (typeof value === 'boolean') {
      if (this.keeps(key)) this.#entry(key, TYPE.boolean, value ? 1 : 0);
      else this.#drop(key, TYPE.boolean, value ? 1 : 0);
    } else {
      const text = encodeValue(value);
      if (this.keeps(key)) this.#entry(key, TYPE.json, this.#strings.intern(text));
      else this.#drop(key, TYPE.json, this.#strings.hashOfText(text));
    }
  }

  /** As {@link add}, for a text that is interned already, of a key that is kept. */
  addText(key: number, text: number): void {
    this.#entry(key, TYPE.string, text);
  }

  /** As {@link add}, for a text of a key that is not kept, by the hash of its bytes. */
  dropText(key: number, hash: number): void {
    this.#drop(key, TYPE.string, hash);
  }

  addNumber(key: number, value: number): void {
    if (!this.keeps(key)) this.#drop(key, TYPE.number, hashNumber(value));
    else if (value >>> 0 === value && !Object.is(value, -0)) this.#entry(key, TYPE.uint, value);
    else this.#entry(key, TYPE.number, this.#number(value));
  }

  /** Adds a value that was added before, by what {@link addedType} and {@link addedData} were then. */
  again(key: number, type: number, data: number): void {
    if (type === NOT_KEPT) this.#pendingRest = (this.#pendingRest + data) >>> 0;
    else this.#entry(key, type, data);
  }

  /** Something else of the row begun that is not kept, by the hash of all it says. */
  dropOther(hash: number): void {
    this.#pendingRest = (this.#pendingRest + hash) >>> 0;
  }

  mark(row: number): AttributeMark {
    return { values: this.#offset[row], numbers: this.#numbersLength };
  }

  rollback({ values, numbers }: AttributeMark): void {
    this.#values = values;
    this.#numbersLength = numbers;
  }

  /** Gives up room for more rows; what they hold is lost. */
  shrink(rows: number): void {
    this.#shape = this.#words(rows);
    this.#offset = this.#words(rows + 1);
    this.#rest = this.#words(rows);
    this.#data = this.#words(rows * 4);
    this.#numbers = this.#doubles(1024);
  }

  /** Forgets the values of all rows. */
  clear(): void {
    this.#values = 0;
    this.#numbersLength = 0;
  }

  /** @returns shapes so far. */
  get shapes(): number {
    return this.#shapes.length;
  }

  shapesFrom(first: number): AttributeShapes {
    return this.#shapes.from(first);
  }

  /** Adds shapes of another table. */
  addShapes({ offset, key, type }: AttributeShapes, maps: BlockMaps, first: number): void {
    for (let i = 0; i + 1 < offset.length; i++) {
      const count = offset[i + 1] - offset[i];
      const keys = key.slice(offset[i], offset[i + 1]);
      for (let k = 0; k < count; k++) keys[k] = maps.strings[keys[k]];
      maps.shapes[first + i] = this.#shapes.of(keys, type.subarray(offset[i], offset[i + 1]), count);
    }
  }

  /** Bytes {@link pack} will take. */
  packedBytes(rows: number): number {
    return this.#numbersLength * 8 + (this.#offset[rows] + rows * 3 + 1) * 4;
  }

  pack(rows: number, packer: BlockPacker): AttributeBlock {
    return {
      numbers: packer.f64(this.#numbers, this.#numbersLength),
      shape: packer.u32(this.#shape, rows),
      offset: packer.u32(this.#offset, rows + 1),
      rest: packer.u32(this.#rest, rows),
      data: packer.u32(this.#data, this.#offset[rows]),
    };
  }

  /** Adds the attributes of a block behind `row` rows; there is room for its rows. */
  append(block: AttributeBlock, row: number, maps: BlockMaps): void {
    const rows = block.shape.length;
    const first = this.#offset[row];
    const values = first + block.data.length;
    if (values > this.#data.length) {
      this.#data = grown(this.#data, this.#words(Math.max(values, grownLength(this.#data.length))));
    }
    const number = this.#numbersLength;
    this.#numbersLength += block.numbers.length;
    if (this.#numbersLength > this.#numbers.length) {
      const length = Math.max(this.#numbersLength, grownLength(this.#numbers.length));
      this.#numbers = grown(this.#numbers, this.#doubles(length));
    }
    this.#numbers.set(block.numbers, number);
    this.#rest.set(block.rest, row);
    const types = this.#shapes.build();
    const data = this.#data;
    for (let i = 0; i < rows; i++) {
      const shape = maps.shapes[block.shape[i]];
      this.#shape[row + i] = shape;
      this.#offset[row + i + 1] = first + block.offset[i + 1];
      let entry = types.offset[shape];
      for (let at = block.offset[i]; at < block.offset[i + 1]; at++, entry++) {
        const value = block.data[at];
        const type = types.type[entry];
        if (type === TYPE.string || type === TYPE.json) data[first + at] = maps.strings[value];
        else data[first + at] = type === TYPE.number ? number + value : value;
      }
    }
    this.#values = values;
  }

  build(rows: number): {
    readonly keptKeys: ReadonlySet<string> | null;
    readonly attributeShapes: AttributeShapes;
    readonly attributeShape: Uint32Array;
    readonly attributeOffset: Uint32Array;
    readonly attributeRest: Uint32Array;
    readonly attributeData: Uint32Array;
    readonly numbers: Float64Array;
  } {
    return {
      keptKeys: this.#keep,
      attributeShapes: this.#shapes.build(),
      attributeShape: this.#shape.subarray(0, rows),
      attributeOffset: this.#offset.subarray(0, rows + 1),
      attributeRest: this.#rest.subarray(0, rows),
      attributeData: this.#data.subarray(0, this.#offset[rows]),
      numbers: this.#numbers.subarray(0, this.#numbersLength),
    };
  }

  #entry(key: number, type: number, data: number): void {
    const i = this.#pending++;
    if (i === this.#pendingKey.length) {
      this.#pendingKey = grown(this.#pendingKey, new Uint32Array(i * 2));
      this.#pendingType = grown(this.#pendingType, new Uint8Array(i * 2));
    }
    this.#pendingKey[i] = key;
    this.#pendingType[i] = type;
    const at = this.#values++;
    if (at === this.#data.length) this.#data = grown(this.#data, this.#words(grownLength(at)));
    this.#data[at] = data;
    // Other numbers stand in a table of their own, where every one has its place.
    this.addedType = type === TYPE.number ? ONCE : type;
    this.addedData = data;
  }

  #drop(key: number, type: number, hash: number): void {
    const mixed = Math.imul(hash ^ Math.imul(this.#strings.hashOf(key) + type, 0xc2b2ae35), 0x27d4eb2f);
    this.addedType = NOT_KEPT;
    this.addedData = (mixed ^ (mixed >>> 15)) >>> 0;
    this.#pendingRest = (this.#pendingRest + this.addedData) >>> 0;
  }

  #words(length: number): Uint32Array {
    return new Uint32Array(this.#memory(length * 4));
  }

  #doubles(length: number): Float64Array {
    return new Float64Array(this.#memory(length * 8));
  }

  #number(value: number): number {
    const index = this.#numbersLength++;
    if (index === this.#numbers.length) {
      this.#numbers = grown(this.#numbers, this.#doubles(grownLength(index)));
    }
    this.#numbers[index] = value;
    return index;
  }
}
