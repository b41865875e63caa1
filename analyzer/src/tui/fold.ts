import type { Data } from './data.ts';
import { DETACHED_SECTION, isSection, type VisibleRow, visibleRows } from './model/rows.ts';
import type { TraceDetail } from './session.ts';
import { current, type UiState, update } from './state.ts';

/** Folds or unfolds the chosen line of a trace. @returns undefined when folding means leaving the trace. */
export function fold(state: UiState, data: Data, unfold: boolean): UiState | undefined {
  const frame = current(state);
  const trace = data.trace(frame.trace);
  if (!trace) return state;
  const visible = visibleRows(trace, frame.folded);
  const line = visible[Math.min(frame.selected, visible.length - 1)];
  if (!line) return state;
  if (line.hasChildren && line.open !== unfold)
    return update(state, { folded: turn(frame.folded, line.key) });
  if (unfold)
    return line.members.length > 1 ? update(state, { folded: [...frame.folded, ...line.members] }) : state;
  if (!line.hasChildren && frame.folded.includes(line.key)) return refold(state, trace, line);
  const outer = outerOf(trace, line);
  return outer === undefined
    ? undefined
    : update(state, { selected: visible.findIndex((row) => row.key === outer) });
}

/** @returns the line one step further out; undefined from the root, and from the title of a section. */
function outerOf(trace: TraceDetail, line: VisibleRow): number | undefined {
  if (isSection(line)) return undefined;
  const { parent, detached } = trace.rows[line.index];
  if (parent >= 0) return parent;
  return detached ? DETACHED_SECTION : undefined;
}

/** A span of an unfolded group goes back into its group. */
function refold(state: UiState, trace: TraceDetail, line: VisibleRow): UiState {
  const frame = current(state);
  const { parent } = trace.rows[line.index];
  const folded = frame.folded.filter(
    (index) =>
      index < 0 ||
      trace.rows[index].parent !== parent ||
      trace.rows[index].name !== trace.rows[line.index].name,
  );
  const selected = visibleRows(trace, folded).findIndex(({ members }) => members.includes(line.index));
  return update(state, { folded, selected: Math.max(0, selected) });
}

function turn(folded: readonly number[], index: number): number[] {
  return folded.includes(index) ? folded.filter((other) => other !== index) : [...folded, index];
}
