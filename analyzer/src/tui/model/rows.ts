import type { TraceDetail, TraceRow } from '../session.ts';

/** One line of a waterfall: a span, several identical siblings folded into one, or the title of the detached section. */
export interface VisibleRow {
  /** Index into the trace's rows; for a section, of its first row. */
  readonly index: number;
  /** What folding turns over: `index`, or {@link DETACHED_SECTION}. */
  readonly key: number;
  /** Siblings of the same name, service and segment that stand behind this line; 1 for a single span. */
  readonly count: number;
  /** The members of a folded group, `index` first; none for a section. */
  readonly members: readonly number[];
  readonly ownedNs: number;
  readonly hasChildren: boolean;
  readonly open: boolean;
}

/** Stands in `folded` for the section of spans that ran on after everything that could have waited for them. */
export const DETACHED_SECTION = -2;

/** A run of at least this many identical leaf siblings becomes one line. */
const FOLD_FROM = 3;

/** @returns true for the title line of the detached section. */
export function isSection(line: VisibleRow): boolean {
  return line.key === DETACHED_SECTION;
}

interface Shape {
  readonly children: readonly (readonly number[])[];
  readonly roots: readonly number[];
  readonly detachedRoots: readonly number[];
  readonly detached: number;
}

const SHAPES = new WeakMap<TraceDetail, Shape>();

function shapeOf(trace: TraceDetail): Shape {
  const known = SHAPES.get(trace);
  if (known) return known;
  const none: readonly number[] = [];
  const children: number[][] = new Array(trace.rows.length).fill(none);
  const roots: number[] = [];
  const detachedRoots: number[] = [];
  let detached = 0;
  trace.rows.forEach((row, index) => {
    if (row.detached) detached++;
    if (row.parent < 0) (row.detached ? detachedRoots : roots).push(index);
    else if (children[row.parent] === none) children[row.parent] = [index];
    else children[row.parent].push(index);
  });
  const shape = { children, roots, detachedRoots, detached };
  SHAPES.set(trace, shape);
  return shape;
}

const LISTED = new WeakMap<TraceDetail, { folded: readonly number[]; lines: readonly VisibleRow[] }>();

/**
 * Lists the lines of a waterfall: children of folded rows are left out, runs of identical leaf siblings become one
 * line with a count unless that line was unfolded (its index stands in `folded`, which turns the default over).
 * The list of a trace is kept until its folds change: a key in a trace of 100,000 spans must not build it again.
 */
export function visibleRows(trace: TraceDetail, folded: readonly number[]): readonly VisibleRow[] {
  const known = LISTED.get(trace);
  if (known?.folded === folded) return known.lines;
  const lines = listRows(trace, folded);
  LISTED.set(trace, { folded, lines });
  return lines;
}

function listRows(trace: TraceDetail, folded: readonly number[]): VisibleRow[] {
  const { roots, detachedRoots, detached } = shapeOf(trace);
  const turned = new Set(folded);
  const out: VisibleRow[] = [];
  addLines(trace, roots, turned, out);
  if (detached > 0) {
    const open = !turned.has(DETACHED_SECTION);
    out.push({
      index: detachedRoots[0],
      key: DETACHED_SECTION,
      count: detached,
      members: [],
      ownedNs: 0,
      hasChildren: true,
      open,
    });
    if (open) addLines(trace, detachedRoots, turned, out);
  }
  return out;
}

function addLines(
  trace: TraceDetail,
  roots: readonly number[],
  turned: ReadonlySet<number>,
  out: VisibleRow[],
): void {
  const { children } = shapeOf(trace);
  const stack: { readonly level: readonly number[]; at: number }[] = [{ level: roots, at: 0 }];
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    const { level } = top;
    if (top.at >= level.length) {
      stack.pop();
      continue;
    }
    const index = level[top.at++];
    let end = top.at;
    if (children[index].length === 0 && !turned.has(index)) {
      while (end < level.length && sameLeaf(trace.rows, children, index, level[end])) end++;
      if (end - top.at + 1 < FOLD_FROM) end = top.at;
    }
    const members = level.slice(top.at - 1, end);
    top.at = end;
    const open = children[index].length > 0 && !turned.has(index);
    out.push({
      index,
      key: index,
      count: members.length,
      members,
      ownedNs: members.reduce((sum, member) => sum + trace.rows[member].ownedNs, 0),
      hasChildren: children[index].length > 0,
      open,
    });
    if (open) stack.push({ level: children[index], at: 0 });
  }
}

function sameLeaf(
  rows: readonly TraceRow[],
  children: readonly (readonly number[])[],
  a: number,
  b: number,
): boolean {
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
