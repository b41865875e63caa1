import {
  ATTR_BLOCKER_AGE_NS,
  ATTR_BLOCKER_STATE,
  ATTR_BLOCKER_STATEMENT,
  ATTR_HOLD_DURATION_NS,
  ATTR_LINK,
  ATTR_SEGMENT,
  LINK_BLOCKED_BY,
  SEGMENTS,
} from '@waitfall/instrumentation/conventions';
import type { SegmentName } from '../../classify/types.ts';
import type { Analysis } from '../../infer/analysis.ts';
import { STATUS } from '../../model/span.ts';
import { attribute } from '../../model/span-table.ts';
import { type Forest, STATE, type Tree } from '../../tree/types.ts';
import { duration } from '../units.ts';

/** A line of a waterfall: one span, or a run of alike ones folded into one. Times in ns after the root's start. */
export interface WaterfallRow {
  readonly depth: number;
  readonly name: string;
  readonly service: string;
  /** Spans it stands for. */
  readonly spans: readonly number[];
  readonly startNs: number;
  readonly endNs: number;
  readonly ownedNs: number;
  readonly segment: SegmentName;
  readonly resource: string | null;
  readonly failed: boolean;
  readonly notes: readonly string[];
}

/** Leaves of one parent that look the same are folded from this many on. */
const FOLD_FROM = 4;

/** @returns the spans of a tree, parents before children, siblings by start, alike leaves folded. */
export function waterfallRows(analysis: Analysis, tree: Tree): WaterfallRow[] {
  const { forest } = analysis;
  const children = childrenOf(forest, tree);
  const out: WaterfallRow[] = [];
  const stack: { rows: number[]; depth: number }[] = [{ rows: [tree.root], depth: 0 }];
  while (stack.length > 0) {
    const { rows, depth } = stack.pop()!;
    out.push(toRow(analysis, rows, depth));
    if (rows.length > 1) continue;
    const below = fold(analysis, children.get(rows[0]) ?? [], children);
    for (let i = below.length - 1; i >= 0; i--) stack.push({ rows: below[i], depth: depth + 1 });
  }
  return out;
}

/** @returns spans that ended after everything that could have waited for them, with what they left, by start. */
export function detachedRows(analysis: Analysis, treeIndex: number): WaterfallRow[] {
  const { forest } = analysis;
  const rows: number[] = [];
  for (let row = 0; row < forest.table.length; row++) {
    if (forest.state[row] === STATE.detached && forest.treeOf[row] === treeIndex) rows.push(row);
  }
  rows.sort((a, b) => forest.start[a] - forest.start[b] || a - b);
  return rows.map((row) => toRow(analysis, [row], 0));
}

function childrenOf(forest: Forest, tree: Tree): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (let i = tree.first + 1; i < tree.first + tree.count; i++) {
    const row = forest.order[i];
    const list = children.get(forest.parent[row]);
    if (list) list.push(row);
    else children.set(forest.parent[row], [row]);
  }
  for (const list of children.values()) {
    list.sort((a, b) => forest.start[a] - forest.start[b] || forest.end[b] - forest.end[a] || a - b);
  }
  return children;
}

/** Groups alike leaves among siblings; the group stands where its first span is. */
function fold(
  { forest, classes }: Analysis,
  siblings: readonly number[],
  children: ReadonlyMap<number, number[]>,
): number[][] {
  const { table } = forest;
  const groups = new Map<string, number[]>();
  const keyOf = (row: number) =>
    children.has(row)
      ? `span ${row}`
      : [
          table.name[row],
          table.resource[row],
          classes.segment[row],
          classes.resource[row],
          table.status[row],
        ].join();
  for (const row of siblings) {
    const key = keyOf(row);
    const list = groups.get(key);
    if (list) list.push(row);
    else groups.set(key, [row]);
  }
  const out: number[][] = [];
  for (const row of siblings) {
    const group = groups.get(keyOf(row))!;
    if (group.length < FOLD_FROM) out.push([row]);
    else if (group[0] === row) out.push(group);
  }
  return out;
}

function toRow(
  { forest, partition, classes }: Analysis,
  spans: readonly number[],
  depth: number,
): WaterfallRow {
  const { table } = forest;
  const row = spans[0];
  const name = table.strings.text(table.name[row]) || '(no name)';
  return {
    depth,
    name: spans.length > 1 ? `${name} ×${spans.length}` : name,
    service: table.resources[table.resource[row]].service,
    spans,
    startNs: spans.reduce((least, each) => Math.min(least, forest.start[each]), Infinity),
    endNs: spans.reduce((most, each) => Math.max(most, forest.end[each]), -Infinity),
    ownedNs: spans.reduce((sum, each) => sum + partition.owned[each], 0),
    segment: SEGMENTS[classes.segment[row]],
    resource: classes.resource[row] < 0 ? null : classes.resources[classes.resource[row]],
    failed: table.status[row] === STATUS.error,
    notes: spans.length > 1 ? [] : notesOf(forest, row),
  };
}

/** @returns a line for each hold that is a span of its own: such spans stand beside the tree, not in it. */
export function holdSpanLines({ forest, classes }: Analysis, treeIndex: number): string[] {
  const { start, end, treeOf, table } = forest;
  return forest.holds
    .map(({ row }) => row)
    .filter((row) => treeOf[row] === treeIndex)
    .sort((a, b) => start[a] - start[b] || a - b)
    .map((row) => {
      const what = classes.resources[classes.resource[row]] ?? table.strings.text(table.name[row]);
      return `${what}: held ${duration(end[row] - start[row])} from +${duration(Math.max(0, start[row]))}`;
    });
}

/** What the bar cannot show: holds and blockers. */
function notesOf(forest: Forest, row: number): string[] {
  const { table } = forest;
  const notes: string[] = [];
  const held = attribute(table, row, ATTR_HOLD_DURATION_NS);
  if (typeof held === 'number' && attribute(table, row, ATTR_SEGMENT) !== undefined)
    notes.push(`held ${duration(held)}`);
  const statement = attribute(table, row, ATTR_BLOCKER_STATEMENT);
  if (typeof statement === 'string') {
    const state = attribute(table, row, ATTR_BLOCKER_STATE);
    const age = attribute(table, row, ATTR_BLOCKER_AGE_NS);
    const more = [
      typeof state === 'string' ? state : null,
      typeof age === 'number' ? `holding for ${duration(age)} when the wait began` : null,
    ].filter((text) => text !== null);
    notes.push(`the holder ran ${statement}${more.length > 0 ? ` (${more.join(', ')})` : ''}`);
  }
  for (const link of table.links.get(row) ?? []) {
    if (link.attributes.get(ATTR_LINK) !== LINK_BLOCKED_BY) continue;
    const known = table.traceIds.includes(link.traceId);
    notes.push(
      `blocked by span ${link.spanId} of trace ${link.traceId}${known ? '' : ' (blocker not in the input)'}`,
    );
  }
  return notes;
}
