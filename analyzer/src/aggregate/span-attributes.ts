import {
  ATTR_LOCK_KEY,
  ATTR_RESOURCE_CAPACITY,
  ATTR_RESOURCE_IN_USE,
  ATTR_RESOURCE_QUEUE_DEPTH,
  ATTR_SEGMENT,
} from '@waitfall/instrumentation/conventions';
import { AttributeReader } from '../model/attribute-reader.ts';
import type { SpanTable } from '../model/span-table.ts';

/** Readers of what spans say about a queue. */
export interface QueueAttributes {
  readonly segment: AttributeReader;
  readonly capacity: AttributeReader;
  readonly inUse: AttributeReader;
  readonly depth: AttributeReader;
  readonly key: AttributeReader;
}

export function queueAttributes(table: SpanTable): QueueAttributes {
  return {
    segment: new AttributeReader(table, ATTR_SEGMENT),
    capacity: new AttributeReader(table, ATTR_RESOURCE_CAPACITY),
    inUse: new AttributeReader(table, ATTR_RESOURCE_IN_USE),
    depth: new AttributeReader(table, ATTR_RESOURCE_QUEUE_DEPTH),
    key: new AttributeReader(table, ATTR_LOCK_KEY),
  };
}

/** @returns a number, whichever of its spellings the input has; null where there is none. */
export function numberOf(reader: AttributeReader, row: number): number | null {
  const value = reader.value(row);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
  return null;
}

/** @returns a value as text; null where there is none. */
export function textOf(reader: AttributeReader, row: number): string | null {
  const value = reader.value(row);
  if (value === undefined || value === null || value === '') return null;
  return String(value);
}
