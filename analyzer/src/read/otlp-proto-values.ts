import type { AttributeValue } from '../model/attributes.ts';
import type { StringPool } from '../model/strings.ts';
import { ProtoError, type ProtoFields, WIRE } from './proto-wire.ts';

/** Values nested deeper than this are refused with their record: no instrumentation writes them. */
const MAX_DEPTH = 32;

/** Reads one `KeyValue` of opentelemetry/proto/common/v1/common.proto into a map. */
export function readKeyValue(fields: ProtoFields, into: Map<string, AttributeValue>, depth = 0): void {
  let key = '';
  let value: AttributeValue = null;
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) key = fields.text();
    else if (fields.is(2, WIRE.bytes)) value = readAnyValue(fields.message(), depth);
    else fields.skip();
  }
  if (into.has(key)) into.delete(key);
  into.set(key, value);
}

/** @returns the string id of a text field. */
export function internText(fields: ProtoFields, strings: StringPool): number {
  const from = fields.bytesFrom();
  return strings.internBytes(fields.buffer, fields.view, from, fields.end);
}

/**
 * `AnyValue`: string 1, bool 2, int 3, double 4, array 5, kvlist 6, bytes 7; null when none of them is set. `begun`
 * says that the fields stand at the first one already.
 */
export function readAnyValue(fields: ProtoFields, depth: number, begun = false): AttributeValue {
  if (depth > MAX_DEPTH) throw new ProtoError(`a value is nested deeper than ${MAX_DEPTH} levels`);
  let value: AttributeValue = null;
  for (let more = begun || fields.next(); more; more = fields.next()) {
    if (fields.is(1, WIRE.bytes)) value = fields.text();
    else if (fields.is(2, WIRE.varint)) value = fields.varint() !== 0n;
    else if (fields.is(3, WIRE.varint)) value = fields.int64();
    else if (fields.is(4, WIRE.fixed64)) value = fields.double();
    else if (fields.is(5, WIRE.bytes)) value = readArray(fields.message(), depth + 1);
    else if (fields.is(6, WIRE.bytes)) value = readKeyValueList(fields.message(), depth + 1);
    else if (fields.is(7, WIRE.bytes)) value = { bytes: fields.bytes().toString('base64') };
    else fields.skip();
  }
  return value;
}

function readArray(fields: ProtoFields, depth: number): AttributeValue[] {
  const values: AttributeValue[] = [];
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) values.push(readAnyValue(fields.message(), depth));
    else fields.skip();
  }
  return values;
}

function readKeyValueList(fields: ProtoFields, depth: number): AttributeValue {
  const members = new Map<string, AttributeValue>();
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) readKeyValue(fields.message(), members, depth);
    else fields.skip();
  }
  return Object.fromEntries(members);
}

/** @returns the attributes (field 1) of a `Resource`. */
export function readResourceAttributes(fields: ProtoFields, into: Map<string, AttributeValue>): void {
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) readKeyValue(fields.message(), into);
    else fields.skip();
  }
}

/** @returns name (1) and version (2) of an `InstrumentationScope`. */
export function readScope(fields: ProtoFields): { name: string; version: string } {
  let name = '';
  let version = '';
  while (fields.next()) {
    if (fields.is(1, WIRE.bytes)) name = fields.text();
    else if (fields.is(2, WIRE.bytes)) version = fields.text();
    else fields.skip();
  }
  return { name, version };
}
