import { ATTR_HOLD_DURATION_NS, ATTR_RESOURCE_QUEUE_DEPTH } from '@waitfall/instrumentation/conventions';
import { queueCalled } from '../aggregate/queue-model.ts';
import { routeOf } from '../aggregate/requests.ts';
import { isWait } from '../classify/classify.ts';
import type { Analysis } from '../infer/analysis.ts';
import { attribute } from '../model/span-table.ts';
import { STATE } from '../tree/types.ts';
import { blockersOf } from './blockers.ts';
import type { Tally, WaitSummary } from './session.ts';

/** Rows of a tally that are worth a line. */
const MOST_NAMES = 20;

/**
 * @param queue name or label
 * @returns who waits for it, who holds it, and the longest waits, at most `limit`; waits of no length are none.
 */
export function waitsOf(
  analysis: Analysis,
  queue: string,
  limit: number,
  indexOfTree: Int32Array,
): WaitSummary {
  const { forest, classes } = analysis;
  const { table } = forest;
  const model = queueCalled(queue, analysis.models);
  const id = classes.resources.indexOf(model?.name ?? queue);
  const isElsewhere = (row: number) =>
    model !== undefined &&
    model.label !== model.name &&
    table.resources[table.resource[row]].service !== model.queue.service;
  const found: { row: number; waitNs: number }[] = [];
  const waiters = new Counter();
  const holders = new Counter();
  const blockers = new Map<number, { count: number; totalNs: number }>();
  let totalNs = 0;
  for (let row = 0; row < table.length; row++) {
    if (classes.resource[row] !== id || forest.state[row] !== STATE.inTree || !isWait(classes.segment[row]))
      continue;
    if (isElsewhere(row)) continue;
    const route = routeOf(forest, forest.trees[forest.treeOf[row]]);
    const held = attribute(table, row, ATTR_HOLD_DURATION_NS);
    if (typeof held === 'number' && held > 0) holders.add(route, held);
    const waitNs = forest.end[row] - forest.start[row];
    if (waitNs <= 0) continue;
    found.push({ row, waitNs });
    totalNs += waitNs;
    waiters.add(route, waitNs);
    const blocker = table.links.has(row) ? blockersOf(analysis, row, indexOfTree)[0] : undefined;
    if (blocker && blocker.row >= 0) {
      const known = blockers.get(blocker.row) ?? { count: 0, totalNs: 0 };
      blockers.set(blocker.row, { count: known.count + 1, totalNs: known.totalNs + waitNs });
    }
  }
  found.sort((a, b) => b.waitNs - a.waitNs || a.row - b.row);
  return {
    count: found.length,
    totalNs,
    examples: found.slice(0, limit).map(({ row, waitNs }) => {
      const depth = attribute(table, row, ATTR_RESOURCE_QUEUE_DEPTH);
      return {
        trace: indexOfTree[forest.treeOf[row]],
        row,
        waitNs,
        blocker: blockersOf(analysis, row, indexOfTree)[0] ?? null,
        queueDepth: typeof depth === 'number' ? depth : null,
      };
    }),
    waiters: waiters.ranked(),
    holders: holders.ranked(),
    blockers: [...blockers]
      .sort(([, a], [, b]) => b.totalNs - a.totalNs)
      .slice(0, MOST_NAMES)
      .map(([row, sum]) => ({
        ...sum,
        name: table.strings.text(table.name[row]),
        trace: forest.treeOf[row] < 0 ? -1 : indexOfTree[forest.treeOf[row]],
        row,
      })),
  };
}

class Counter {
  readonly #sums = new Map<string, { count: number; totalNs: number }>();

  add(name: string, ns: number): void {
    const sum = this.#sums.get(name);
    if (sum) {
      sum.count++;
      sum.totalNs += ns;
    } else {
      this.#sums.set(name, { count: 1, totalNs: ns });
    }
  }

  ranked(): Tally[] {
    return [...this.#sums]
      .map(([name, sum]) => ({ name, ...sum }))
      .sort((a, b) => b.totalNs - a.totalNs)
      .slice(0, MOST_NAMES);
  }
}
