import type { SpanTable } from '../model/span-table.ts';
import { type Forest, STATE } from '../tree/types.ts';

/**
 * Spans of another instrumentation whose wait is also measured by a span that states it.
 *
 * Two instrumentations of one pool describe one acquisition twice: `pg-pool.connect` and, below or beside it, the wait
 * with `waitfall.segment`. The stated one tells the wait from the hand-over after it; the other must not count as a second
 * arrival at a second queue. A span is superseded when a stated wait of the same segment and service hangs under it or
 * under its parent and overlaps it.
 *
 * @param known the segment a row's name is known for, -1 for none.
 * @param stated the wait segment a row states, -1 for none.
 */
export function supersededRows(
  table: SpanTable,
  forest: Forest,
  known: (row: number) => number,
  stated: (row: number) => number,
): Set<number> {
  const { parent, state, start, recordedEnd } = forest;
  const isPlaced = (row: number): boolean => state[row] === STATE.inTree || state[row] === STATE.detached;
  const candidates: number[] = [];
  const watched = new Map<number, number[]>();
  for (let row = 0; row < table.length; row++) {
    if (!isPlaced(row) || known(row) < 0) continue;
    candidates.push(row);
    watched.set(row, []);
    if (parent[row] >= 0) watched.set(parent[row], []);
  }
  if (candidates.length === 0) return new Set();
  for (let row = 0; row < table.length; row++) {
    const siblings = watched.get(parent[row]);
    if (siblings !== undefined && isPlaced(row) && stated(row) >= 0) siblings.push(row);
  }
  const measures = (wait: number, row: number): boolean =>
    stated(wait) === known(row) &&
    serviceOf(table, wait) === serviceOf(table, row) &&
    start[wait] <= recordedEnd[row] &&
    recordedEnd[wait] >= start[row];
  const near = (row: number): number[] => [...(watched.get(row) ?? []), ...(watched.get(parent[row]) ?? [])];
  return new Set(candidates.filter((row) => near(row).some((wait) => measures(wait, row))));
}

function serviceOf(table: SpanTable, row: number): string {
  return table.resources[table.resource[row]].service;
}
