import { KIND } from '../model/span.ts';
import type { SpanTable } from '../model/span-table.ts';
import { endedEarly } from './ended-early.ts';
import { durationNs } from './epoch.ts';
import type { Timeline } from './timeline.ts';
import type { ClockOffset, SkewPair } from './types.ts';
import type { Work } from './work.ts';

/**
 * Rule 5, clock skew; also places every row of every tree on its timeline, top-down.
 *
 * A SERVER child in another process than its CLIENT or PRODUCER parent that did not fail or time out, sticking out by
 * more than the tolerance at either end but not longer than the parent, moves with its whole subtree by the least
 * offset that puts it wholly inside the parent.
 *
 * @returns every offset.
 */
export function correctClocks(
  work: Work,
  order: Int32Array,
  timeline: Timeline,
  toleranceNs: number,
  keepClocks: boolean,
): ClockOffset[] {
  const { table, parent } = work;
  const early = endedEarly(table);
  const offsets: ClockOffset[] = [];
  for (let at = 0; at < order.length; at++) {
    const row = order[at];
    const above = parent[row];
    if (above < 0) {
      timeline.placeRoot(row);
      continue;
    }
    timeline.placeLike(row, above);
    if (keepClocks || !crossesProcess(table, above, row) || early(above)) continue;
    const before = timeline.startAfter(above, row);
    const after = timeline.endAfter(row, above);
    if (before <= toleranceNs && after <= toleranceNs) continue;
    if (durationNs(table, row) > durationNs(table, above)) continue;
    if (before > 0) timeline.moveToStart(row, above);
    else timeline.moveToEnd(row, above);
    offsets.push({
      from: table.resources[table.resource[above]].service,
      to: table.resources[table.resource[row]].service,
      ns: before > 0 ? before : -after,
    });
  }
  return offsets;
}

/** @returns whether an edge is a call into another process, as far as the resources can tell. */
function crossesProcess(table: SpanTable, parent: number, child: number): boolean {
  if (table.kind[child] !== KIND.server) return false;
  if (table.kind[parent] !== KIND.client && table.kind[parent] !== KIND.producer) return false;
  const a = table.resources[table.resource[parent]];
  const b = table.resources[table.resource[child]];
  return a.service !== b.service || (a.hasInstanceId && b.hasInstanceId && a.instance !== b.instance);
}

/** @returns count and median offset (nearest rank) per pair of services, ordered by name. */
export function skewPairs(offsets: readonly ClockOffset[]): SkewPair[] {
  const pairs = new Map<string, { from: string; to: string; ns: number[] }>();
  for (const { from, to, ns } of offsets) {
    const key = JSON.stringify([from, to]);
    let pair = pairs.get(key);
    if (pair === undefined) pairs.set(key, (pair = { from, to, ns: [] }));
    pair.ns.push(ns);
  }
  return [...pairs]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { from, to, ns }]) => {
      ns.sort((a, b) => a - b);
      return { from, to, count: ns.length, medianOffsetNs: ns[Math.ceil(ns.length / 2) - 1] };
    });
}
