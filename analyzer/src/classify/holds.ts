import { ATTR_HOLD_DURATION_NS, ATTR_RESOURCE, HOLD_SEGMENT } from '@waitfall/instrumentation/conventions';
import { AttributeReader } from '../model/attribute-reader.ts';
import type { AttributeValue } from '../model/attributes.ts';
import { compareSpanIds, type SpanTable } from '../model/span-table.ts';
import { type Forest, STATE } from '../tree/types.ts';
import type { Classes } from './types.ts';

/** How long a resource was held: from the moment it was acquired to its release. */
export interface Hold {
  /** The wait span that took the resource; -1 when the hold is a span of its own. */
  readonly waitRow: number;
  /** The hold span; -1 when the hold is stated on its wait span. */
  readonly holdRow: number;
  /** The span during which it was held: its part of the partition, cut to the hold, says what the hold was spent on. -1: unknown. */
  readonly ownerRow: number;
  /** Tree of the owner; -1 when there is none. */
  readonly tree: number;
  readonly resource: string;
  /** ns relative to the start of the tree's root (without a tree: to the hold's own start), half-open. */
  readonly start: number;
  readonly end: number;
}

/** A longer hold (104 days) is a mistake of whoever wrote it, and beyond exact numbers. */
const LONGEST_NS = Number.MAX_SAFE_INTEGER;

/**
 * Visits every hold in the input, in an order that does not depend on the input's: from `waitfall.hold.duration_ns` on a
 * wait span (the hold runs from the recorded end of that span) and from spans with segment `hold`. Holds that cross the
 * end of the root are whole.
 */
export function eachHold(
  table: SpanTable,
  forest: Forest,
  classes: Classes,
  visit: (hold: Hold) => void,
): void {
  const durations = new AttributeReader(table, ATTR_HOLD_DURATION_NS);
  if (!durations.isAbsent) {
    const placed = (row: number): void => {
      if (!durations.has(row)) return;
      const duration = nanoseconds(durations.value(row));
      if (duration === null || duration < 0 || duration > LONGEST_NS || classes.resource[row] < 0) return;
      const start = forest.recordedEnd[row];
      visit({
        waitRow: row,
        holdRow: -1,
        ownerRow: forest.parent[row],
        tree: forest.treeOf[row],
        resource: classes.resources[classes.resource[row]],
        start,
        end: start + duration,
      });
    };
    for (let at = 0; at < forest.order.length; at++) placed(forest.order[at]);
    for (const row of detachedRows(forest)) placed(row);
  }
  const resources = new AttributeReader(table, ATTR_RESOURCE);
  const spans = [...forest.holds].sort((a, b) => compareRows(forest, a.row, b.row));
  for (const { row, owner } of spans) {
    visit({
      waitRow: -1,
      holdRow: row,
      ownerRow: owner,
      tree: forest.treeOf[row],
      resource: resources.text(row) || nameOfHold(table, row),
      start: forest.start[row],
      end: forest.recordedEnd[row],
    });
  }
}

function detachedRows(forest: Forest): number[] {
  const detached: number[] = [];
  for (let row = 0; row < forest.state.length; row++) {
    if (forest.state[row] === STATE.detached) detached.push(row);
  }
  return detached.sort((a, b) => compareRows(forest, a, b));
}

/** By tree, start and span id. */
function compareRows({ table, treeOf, start }: Forest, a: number, b: number): number {
  return treeOf[a] - treeOf[b] || start[a] - start[b] || compareSpanIds(table, a, b);
}

/** Hold spans without `waitfall.resource` are named `hold <resource>` or after the resource itself. */
function nameOfHold(table: SpanTable, row: number): string {
  const name = table.strings.text(table.name[row]);
  return name.startsWith(`${HOLD_SEGMENT} `) ? name.slice(HOLD_SEGMENT.length + 1) : name;
}

/** An int64 attribute may have come as a number, a bigint or a text. */
function nanoseconds(value: AttributeValue | undefined): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? Math.round(value) : null;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
  return null;
}
