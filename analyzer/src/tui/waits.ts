import { ATTR_RESOURCE_QUEUE_DEPTH } from '@waitfall/instrumentation/conventions';
import { isWait } from '../classify/classify.ts';
import type { Analysis } from '../infer/analysis.ts';
import { attribute } from '../model/span-table.ts';
import { STATE } from '../tree/types.ts';
import { blockersOf } from './blockers.ts';
import type { WaitExample } from './session.ts';

/** @returns the longest waits for a resource, longest first, at most `limit`; waits of no length are none. */
export function longestWaits(
  analysis: Analysis,
  resource: string,
  limit: number,
  indexOfTree: Int32Array,
): WaitExample[] {
  const { forest, classes } = analysis;
  const id = classes.resources.indexOf(resource);
  const found: { row: number; waitNs: number }[] = [];
  for (let row = 0; row < forest.table.length; row++) {
    if (classes.resource[row] !== id || forest.state[row] !== STATE.inTree || !isWait(classes.segment[row]))
      continue;
    const waitNs = forest.end[row] - forest.start[row];
    if (waitNs > 0) found.push({ row, waitNs });
  }
  found.sort((a, b) => b.waitNs - a.waitNs || a.row - b.row);
  return found.slice(0, limit).map(({ row, waitNs }) => {
    const depth = attribute(forest.table, row, ATTR_RESOURCE_QUEUE_DEPTH);
    return {
      trace: indexOfTree[forest.treeOf[row]],
      row,
      waitNs,
      blocker: blockersOf(analysis, row, indexOfTree)[0] ?? null,
      queueDepth: typeof depth === 'number' ? depth : null,
    };
  });
}
