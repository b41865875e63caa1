import type { Forest } from '../tree/types.ts';
import { ACQUIRED } from './activity.ts';
import type { CallList } from './call-list.ts';
import type { Gathering } from './gathering.ts';
import { type QueueAttributes, textOf } from './span-attributes.ts';

/**
 * Holds of row locks that a statement took and gave back by itself (autocommit): their spans say which row, not for how
 * long. Such a lock is held from its grant to the end of the statement, the reply's wait for the event loop not counted.
 * Where a statement did not wait, that is all of it.
 */
export function addStatementHolds(
  { activity, firstRow, since }: Gathering,
  forest: Forest,
  attributes: QueueAttributes,
): void {
  const { queues, waits, holds, calls } = activity;
  if (!queues.some((queue) => queue.kind === 'lock')) return;
  const stated = new Set<number>();
  for (let i = since.holds; i < holds.length; i++)
    if (queues[holds.queue[i]].kind === 'lock') stated.add(holds.row[i]);
  let callOf: Map<number, number> | undefined;
  for (let i = since.waits; i < waits.length; i++) {
    const row = waits.row[i];
    if (queues[waits.queue[i]].kind !== 'lock' || waits.outcome[i] !== ACQUIRED || stated.has(row)) continue;
    const key = textOf(attributes.key, row - firstRow);
    if (key === null) continue;
    callOf ??= callsByRow(calls, since.calls);
    const call = callOf.get(firstRow + forest.parent[row - firstRow]);
    if (call === undefined) continue;
    const waited = waits.endNs[i] > waits.startNs[i];
    const startNs = waited ? Math.max(calls.startNs[call], waits.endNs[i]) : calls.startNs[call];
    holds.push({
      queue: waits.queue[i],
      instance: waits.instance[i],
      request: waits.request[i],
      row,
      host: firstRow + forest.parent[row - firstRow],
      startNs,
      endNs: Math.max(startNs, calls.endNs[call]),
      key,
    });
  }
}

function callsByRow({ row, length }: CallList, from: number): Map<number, number> {
  const byRow = new Map<number, number>();
  for (let i = from; i < length; i++) byRow.set(row[i], i);
  return byRow;
}
