import type { SpanTable } from './span-table.ts';
import { type SharedStrings, StringPool } from './strings.ts';

/** A table as it is handed to another thread of the process: its columns are not copied. */
export interface SharedTable extends Omit<SpanTable, 'strings' | 'traceIds' | 'links' | 'events'> {
  readonly strings: SharedStrings;
}

export function shareTable(table: SpanTable): SharedTable {
  const { strings, traceIds: _, links: _links, events: _events, ...columns } = table;
  return { ...columns, strings: strings.share() };
}

/** @returns the table of another thread, without trace ids, links and events. */
export function openTable(shared: SharedTable): SpanTable {
  return {
    ...shared,
    strings: new StringPool(shared.strings),
    traceIds: [],
    links: new Map(),
    events: new Map(),
  };
}
