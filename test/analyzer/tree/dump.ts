import { partition } from '../../../analyzer/src/partition/partition.ts';
import { repairTrees } from '../../../analyzer/src/tree/repair.ts';
import { type Forest, type RepairOptions, STATE } from '../../../analyzer/src/tree/types.ts';
import { type TestSpan, tableOf } from './spans.ts';

const OUTSIDE = [
  [STATE.hold, 'hold'],
  [STATE.detached, 'detached'],
  [STATE.quarantined, 'quarantined'],
  [STATE.dropped, 'dropped'],
] as const;

/** Milliseconds, the unit of these tests' inputs. */
export const MS = 1_000_000;

/**
 * Repairs spans whose times are in ms and says in text what came out: per tree each span as `name [start,end) own` in ms
 * relative to the root's start (`own` is the time the partition gives it), indented by depth; then rows outside trees
 * and every counter that is not zero.
 */
export function dump(spans: readonly TestSpan[], options: Partial<RepairOptions> = {}): string[] {
  const forest = repairTrees(tableOf(spans.map(inMs)), { toleranceNs: MS, keepClocks: false, ...options });
  return [...treeLines(forest, spans), ...outside(forest, spans), ...counters(forest)];
}

function inMs(span: TestSpan): TestSpan {
  const ns = (time: TestSpan['start']) => (typeof time === 'number' ? Math.round(time * MS) : time);
  return { ...span, start: ns(span.start), end: ns(span.end) };
}

function treeLines(forest: Forest, spans: readonly TestSpan[]): string[] {
  const { owned } = partition(forest);
  const depth = new Map<number, number>();
  const lines: string[] = [];
  for (const tree of forest.trees) {
    for (const row of forest.order.subarray(tree.first, tree.first + tree.count)) {
      const level = row === tree.root ? 0 : depth.get(forest.parent[row])! + 1;
      depth.set(row, level);
      const kind = row !== tree.root ? '' : `${tree.kind}${tree.missingParent && ` ${tree.missingParent}`}: `;
      const times = `[${forest.start[row] / MS},${forest.end[row] / MS})`;
      lines.push(`${'  '.repeat(level)}${kind}${label(spans, row)} ${times} ${owned[row] / MS}`);
    }
  }
  return lines;
}

function label(spans: readonly TestSpan[], row: number): string {
  return spans[row].name ?? spans[row].id;
}

function outside(forest: Forest, spans: readonly TestSpan[]): string[] {
  return OUTSIDE.flatMap(([state, name]) => {
    const rows = [...forest.state.keys()].filter((row) => forest.state[row] === state);
    return rows.length === 0 ? [] : [`${name}: ${rows.map((row) => label(spans, row)).join(' ')}`];
  });
}

function counters({ counters: { skew, ...numbers } }: Forest): string[] {
  const lines = Object.entries(numbers)
    .filter(([, value]) => Number(value) !== 0)
    .map(([name, value]) => `${name} ${name.endsWith('Ns') ? Number(value) / MS : value}`);
  for (const { from, to, count, medianOffsetNs } of skew) {
    lines.push(`skew ${from} -> ${to} ${count} x ${medianOffsetNs / MS}`);
  }
  return lines;
}
