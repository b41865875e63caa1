import type { TraceDetail, TraceRow } from '../session.ts';

/** One line of a waterfall: a span, or several identical siblings folded into one. */
export interface VisibleRow {
  /** Index into the trace's rows. */
  readonly index: number;
  /** Siblings of the same name, service and segment that stand behind this line; 1 for a single span. */
  readonly count: number;
  /** The members of a folded group, `index` first. */
  readonly members: readonly number[];
  readonly ownedNs: number;
  readonly hasChildren: boolean;
  readonly open: boolean;
}

/** A run of at least this many identical leaf siblings becomes one line. */
const FOLD_FROM = 3;

/**
 * Lists the lines of a waterfall: children of folded rows are left out, runs of identical leaf siblings become one
 * line with a count unless that line was unfolded (its index stands in `folded`, which turns the default over).
 */
export function visibleRows(trace: TraceDetail, folded: readonly number[]): VisibleRow[] {
  const children: number[][] = trace.rows.map(() => []);
  const roots: number[] = [];
  trace.rows.forEach((row, index) => {
    if (row.parent < 0) roots.push(index);
    else children[row.parent].push(index);
  });
  const turned = new Set(folded);
  const out: VisibleRow[] = [];
  const stack: number[][] = [[...roots].reverse()];
  while (stack.length > 0) {
    const level = stack[stack.length - 1];
    const index = level.pop();
    if (index === undefined) {
      stack.pop();
      continue;
    }
    const run = [index];
    if (children[index].length === 0 && !turned.has(index)) {
      while (level.length > 0 && sameLeaf(trace.rows, children, index, level[level.length - 1]))
        run.push(level.pop()!);
      if (run.length < FOLD_FROM) {
        while (run.length > 1) level.push(run.pop()!);
      }
    }
    const open = children[index].length > 0 && !turned.has(index);
    out.push({
      index,
      count: run.length,
      members: run,
      ownedNs: run.reduce((sum, member) => sum + trace.rows[member].ownedNs, 0),
      hasChildren: children[index].length > 0,
      open,
    });
    if (open) stack.push([...children[index]].reverse());
  }
  return out;
}

function sameLeaf(rows: readonly TraceRow[], children: readonly number[][], a: number, b: number): boolean {
  const x = rows[a];
  const y = rows[b];
  return (
    children[b].length === 0 &&
    x.name === y.name &&
    x.service === y.service &&
    x.segment === y.segment &&
    x.resource === y.resource &&
    x.detached === y.detached &&
    x.error === y.error &&
    y.blockers.length === 0
  );
}
