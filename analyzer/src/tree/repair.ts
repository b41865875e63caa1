import { giveBack } from '../model/scratch.ts';
import type { SpanTable } from '../model/span-table.ts';
import { quarantineBroken } from './broken-times.ts';
import { correctClocks, skewPairs } from './clock-skew.ts';
import { dropCopies } from './copies.ts';
import { liftHolds } from './lift-holds.ts';
import { settleOverruns } from './overruns.ts';
import { plantTrees } from './plant.ts';
import { findRoots } from './roots.ts';
import { Timeline } from './timeline.ts';
import { type Forest, type HoldSpan, type RepairOptions, STATE } from './types.ts';
import { newWork, topDown, type Work } from './work.ts';

/** {@link RepairOptions} of an analysis that was told nothing else. */
export const DEFAULT_REPAIR: RepairOptions = { toleranceNs: 1_000_000, keepClocks: false };

/**
 * Turns the span records of an input into trees (docs/partition.md). The rules run in a fixed order, each over the
 * whole result of the one before, and every step is counted:
 * 1 copies, 2 broken times, 3 roots, 4 holds, 5 clock skew, 6 small overruns, 7 larger ones.
 *
 * Iterative, O(n log n) in the number of records; the result does not depend on their order.
 */
export function repairTrees(table: SpanTable, options: RepairOptions = DEFAULT_REPAIR): Forest {
  const work = newWork(table);
  const { duplicates, conflicts } = dropCopies(work);
  const { quarantined, quarantinedSubtree } = quarantineBroken(work);
  const cycles = findRoots(work);
  const holds = liftHolds(work);
  const order = topDown(work);
  const timeline = new Timeline(table);
  const clockOffsets = correctClocks(work, order, timeline, options.toleranceNs, options.keepClocks);
  const end = timeline.end.slice();
  const overruns = settleOverruns(work, order, timeline, end, options.toleranceNs);
  placeHolds(holds, timeline, end);
  const planted = plantTrees(work, timeline.start);
  passOnTree(work, order, planted.treeOf);
  giveBack(order);
  timeline.giveBack();
  for (const { row, owner } of holds) planted.treeOf[row] = owner < 0 ? -1 : planted.treeOf[owner];
  return {
    table,
    state: work.state,
    parent: work.parent,
    treeOf: planted.treeOf,
    start: timeline.start,
    end,
    recordedEnd: timeline.end,
    trees: planted.trees,
    order: planted.order,
    holds,
    counters: {
      duplicates,
      conflicts,
      quarantined,
      quarantinedSubtree,
      cycles,
      ...overruns,
      skew: skewPairs(clockOffsets),
    },
    clockOffsets,
  };
}

/** Holds move with the span they hang under. */
function placeHolds(holds: readonly HoldSpan[], timeline: Timeline, end: Float64Array): void {
  for (const { row, owner } of holds) {
    if (owner < 0) timeline.placeRoot(row);
    else timeline.placeLike(row, owner);
    end[row] = timeline.end[row];
  }
}

/** Detached rows carry the tree they left. */
function passOnTree({ state, parent }: Work, order: Int32Array, treeOf: Int32Array): void {
  for (let at = 0; at < order.length; at++) {
    const row = order[at];
    if (state[row] === STATE.detached) treeOf[row] = treeOf[parent[row]];
  }
}
