import type { Classes } from '../classify/types.ts';
import { KIND, STATUS } from '../model/span.ts';
import type { Forest } from '../tree/types.ts';
import type { Queue } from './activity.ts';
import type { Gathering } from './gathering.ts';
import type { Requests } from './requests-types.ts';
import type { StatementReader } from './statement.ts';

export interface CallWaits {
  totalNs: number;
  leadEndNs: number;
  tailStartNs: number;
}

/** A wait below a call is not the server's time; a lock wait comes before the server's work, a loop wait after it. */
export function addCallWait(waits: Map<number, CallWaits>, forest: Forest, row: number): void {
  const parent = forest.parent[row];
  if (parent < 0 || forest.table.kind[parent] !== KIND.client) return;
  // A visit without a wait says nothing about where in the call the server worked.
  if (forest.end[row] <= forest.start[row]) return;
  let entry = waits.get(parent);
  if (!entry) {
    entry = { totalNs: 0, leadEndNs: forest.start[parent], tailStartNs: forest.end[parent] };
    waits.set(parent, entry);
  }
  entry.totalNs += forest.end[row] - forest.start[row];
  const middle = (forest.start[parent] + forest.end[parent]) / 2;
  const atEnd = forest.end[row] >= forest.end[parent] && forest.start[row] > middle;
  if (atEnd) entry.tailStartNs = Math.min(entry.tailStartNs, forest.start[row]);
  else entry.leadEndNs = Math.max(entry.leadEndNs, forest.end[row]);
}

/** Adds one call to a server; `times` without the waits that are measured themselves, ns relative to the root. */
export function addCall(
  { activity, firstRow, firstRequest }: Gathering,
  queue: Queue,
  forest: Forest,
  requests: Requests,
  request: number,
  row: number,
  statements: StatementReader,
  times: { durationNs: number; startNs: number; endNs: number },
): void {
  const { table } = forest;
  const originNs = requests.startNs[request];
  activity.calls.push({
    queue: queue.index,
    request: firstRequest + request,
    row: firstRow + row,
    startNs: originNs + times.startNs,
    endNs: originNs + Math.max(times.startNs, times.endNs),
    durationNs: Math.max(0, times.durationNs),
    operation: statements.operationOf(row, requests.route[request], requests.routes),
    failed: table.status[row] === STATUS.error,
  });
}

/** Whether the span is part of a call to the same server that its parent already is. */
export function insideSameCall(forest: Forest, classes: Classes, row: number): boolean {
  const parent = forest.parent[row];
  return (
    parent >= 0 &&
    forest.table.kind[parent] === KIND.client &&
    classes.segment[parent] === classes.segment[row] &&
    classes.resource[parent] === classes.resource[row]
  );
}

/** Topmost row of the same service above: where the request entered that service. */
export function entryOf(forest: Forest, row: number): number {
  const { table, parent } = forest;
  const { service } = table.resources[table.resource[row]];
  let entry = row;
  for (let up = parent[row]; up >= 0; up = parent[up]) {
    if (table.resources[table.resource[up]].service !== service) break;
    entry = up;
  }
  return entry;
}
