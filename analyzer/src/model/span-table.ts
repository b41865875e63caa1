import type { AttributeShapes } from './attribute-shapes.ts';
import type { AttributeValue } from './attributes.ts';
import type { Resource, Scope, SpanEvent, SpanLink } from './span.ts';
import { decodeValue, FLAG, TYPE } from './span-codes.ts';
import type { StringPool } from './strings.ts';

export { FLAG } from './span-codes.ts';
export { SpanTableBuilder } from './span-table-builder.ts';

/**
 * Every span record of the input, one row each in input order, one typed array a field.
 *
 * Times are epoch seconds and nanoseconds apart: two u32 are exact, a double is not beyond 2^53 ns.
 */
export interface SpanTable {
  readonly length: number;
  readonly strings: StringPool;
  readonly resources: readonly Resource[];
  readonly scopes: readonly Scope[];
  /** Trace ids as canonical text, by trace index. */
  readonly traceIds: readonly string[];
  /** Trace index of each row. */
  readonly trace: Uint32Array;
  readonly spanHi: Uint32Array;
  readonly spanLo: Uint32Array;
  readonly parentHi: Uint32Array;
  readonly parentLo: Uint32Array;
  /** String id of the span's name. */
  readonly name: Uint32Array;
  /** KIND and STATUS of model/span.ts. */
  readonly kind: Uint8Array;
  readonly status: Uint8Array;
  readonly flags: Uint8Array;
  readonly startSec: Uint32Array;
  readonly startNs: Uint32Array;
  readonly endSec: Uint32Array;
  readonly endNs: Uint32Array;
  readonly resource: Uint32Array;
  readonly scope: Uint32Array;
  /** String ids. */
  readonly traceState: Uint32Array;
  readonly statusMessage: Uint32Array;
  /** Keys whose attributes were kept; null: all were. */
  readonly keptKeys: ReadonlySet<string> | null;
  /** Hash of each row's attributes and events that were not kept, whatever their order; 0 where there are none. */
  readonly attributeRest: Uint32Array;
  /** Keys and types of each row's attributes, by shape. */
  readonly attributeShapes: AttributeShapes;
  readonly attributeShape: Uint32Array;
  /** Values of row r are attributeData[attributeOffset[r]] and those behind it, as many as its shape has entries. */
  readonly attributeOffset: Uint32Array;
  readonly attributeData: Uint32Array;
  readonly numbers: Float64Array;
  /** Rows without links (events) are absent. Events are kept where all attributes are. */
  readonly links: ReadonlyMap<number, readonly SpanLink[]>;
  readonly events: ReadonlyMap<number, readonly SpanEvent[]>;
}

/** @returns the span id of a row as canonical text. */
export function spanIdText(table: SpanTable, row: number): string {
  if (table.flags[row] & FLAG.opaqueId) return table.strings.text(table.spanLo[row]);
  return hex16(table.spanHi[row], table.spanLo[row]);
}

/** @returns the parent id of a row as canonical text, empty for a true root. */
export function parentIdText(table: SpanTable, row: number): string {
  if (table.flags[row] & FLAG.noParent) return '';
  if (table.flags[row] & FLAG.opaqueParent) return table.strings.text(table.parentLo[row]);
  return hex16(table.parentHi[row], table.parentLo[row]);
}

/** Orders two rows by span id as text (the smaller id wins ties: docs/partition.md). */
export function compareSpanIds(table: SpanTable, a: number, b: number): number {
  if (!((table.flags[a] | table.flags[b]) & FLAG.opaqueId)) {
    return table.spanHi[a] - table.spanHi[b] || table.spanLo[a] - table.spanLo[b];
  }
  const x = spanIdText(table, a);
  const y = spanIdText(table, b);
  return x < y ? -1 : x > y ? 1 : 0;
}

/** @returns epoch ns of a row's start; 0n when it has none. */
export function startUnixNano(table: SpanTable, row: number): bigint {
  return BigInt(table.startSec[row]) * 1_000_000_000n + BigInt(table.startNs[row]);
}

/** @returns epoch ns of a row's end; 0n when it has none. */
export function endUnixNano(table: SpanTable, row: number): bigint {
  return BigInt(table.endSec[row]) * 1_000_000_000n + BigInt(table.endNs[row]);
}

/**
 * @returns the string id of an attribute's key, -1 when no span has one. Throws where the table was read without that
 * key: an answer of "nobody has it" would be wrong.
 */
export function attributeKey(table: SpanTable, key: string): number {
  if (table.keptKeys !== null && !table.keptKeys.has(key)) {
    throw new Error(`attribute ${key} was not kept by the reader: name it among the keys to keep`);
  }
  return table.strings.find(key);
}

/** @returns the value of an attribute, undefined when the row has none; of equal keys the last counts. */
export function attribute(table: SpanTable, row: number, key: string): AttributeValue | undefined {
  const id = attributeKey(table, key);
  return id < 0 ? undefined : attributeById(table, row, id);
}

/** As {@link attribute}, with the key's string id ({@link attributeKey}) looked up once by the caller. */
export function attributeById(table: SpanTable, row: number, keyId: number): AttributeValue | undefined {
  const { offset, key } = table.attributeShapes;
  const shape = table.attributeShape[row];
  const from = offset[shape];
  for (let i = offset[shape + 1] - 1; i >= from; i--) {
    if (key[i] === keyId) return valueAt(table, i, table.attributeOffset[row] + i - from);
  }
  return undefined;
}

/** @returns all attributes of a row, in input order. */
export function attributes(table: SpanTable, row: number): Map<string, AttributeValue> {
  const all = new Map<string, AttributeValue>();
  const { offset, key } = table.attributeShapes;
  const shape = table.attributeShape[row];
  const from = offset[shape];
  for (let i = from; i < offset[shape + 1]; i++) {
    all.set(table.strings.text(key[i]), valueAt(table, i, table.attributeOffset[row] + i - from));
  }
  return all;
}

/** @returns true when two rows have the same attributes in the same order. */
export function equalAttributes(table: SpanTable, a: number, b: number): boolean {
  const shape = table.attributeShape[a];
  if (shape !== table.attributeShape[b] || table.attributeRest[a] !== table.attributeRest[b]) return false;
  const { offset, type } = table.attributeShapes;
  const { attributeData, numbers } = table;
  for (let i = offset[shape]; i < offset[shape + 1]; i++) {
    const x = attributeData[table.attributeOffset[a] + i - offset[shape]];
    const y = attributeData[table.attributeOffset[b] + i - offset[shape]];
    if (x !== y && !(type[i] === TYPE.number && Object.is(numbers[x], numbers[y]))) return false;
  }
  return true;
}

function hex16(hi: number, lo: number): string {
  return hi.toString(16).padStart(8, '0') + lo.toString(16).padStart(8, '0');
}

/** @returns the value of an entry of a shape, whose datum stands at `at`. */
export function valueAt(table: SpanTable, entry: number, at: number): AttributeValue {
  const data = table.attributeData[at];
  switch (table.attributeShapes.type[entry]) {
    case TYPE.string:
      return table.strings.text(data);
    case TYPE.uint:
      return data;
    case TYPE.number:
      return table.numbers[data];
    case TYPE.boolean:
      return data === 1;
    default:
      return decodeValue(table.strings.text(data));
  }
}
