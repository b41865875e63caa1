import {
  ATTR_LOCK_KEY,
  ATTR_RESOURCE_CAPACITY,
  ATTR_RESOURCE_IN_USE,
  ATTR_RESOURCE_QUEUE_DEPTH,
  ATTR_SEGMENT,
} from '@waitfall/instrumentation/conventions';
import { attributeById, attributeKey, type SpanTable } from '../model/span-table.ts';

/** Ids of the keys that say something about a queue; -1 where no span has the key. */
export type AttributeIds = ReturnType<typeof attributeIds>;

export function attributeIds(table: SpanTable) {
  const find = (key: string) => attributeKey(table, key);
  return {
    segment: find(ATTR_SEGMENT),
    capacity: find(ATTR_RESOURCE_CAPACITY),
    inUse: find(ATTR_RESOURCE_IN_USE),
    depth: find(ATTR_RESOURCE_QUEUE_DEPTH),
    key: find(ATTR_LOCK_KEY),
  };
}

export function statesDownstream(table: SpanTable, row: number, segmentId: number): boolean {
  return segmentId >= 0 && attributeById(table, row, segmentId) === 'downstream';
}

export function numberOf(table: SpanTable, row: number, keyId: number): number | null {
  if (keyId < 0) return null;
  const value = attributeById(table, row, keyId);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
  return null;
}

export function textOf(table: SpanTable, row: number, keyId: number): string | null {
  if (keyId < 0) return null;
  const value = attributeById(table, row, keyId);
  if (value === undefined || value === null || value === '') return null;
  return String(value);
}
