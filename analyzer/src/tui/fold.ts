import type { Data } from './data.ts';
import { visibleRows } from './model/rows.ts';
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
    return update(state, { folded: turn(frame.folded, line.index) });
  if (line.count > 1 && unfold) return update(state, { folded: [...frame.folded, ...line.members] });
  if (!unfold) {
    // Already folded: step out to the parent, or leave the trace from its root.
    const parent = trace.rows[line.index].parent;
    if (parent < 0) return undefined;
    return update(state, { selected: visible.findIndex((row) => row.index === parent) });
  }
  return state;
}

function turn(folded: readonly number[], index: number): number[] {
  return folded.includes(index) ? folded.filter((other) => other !== index) : [...folded, index];
}
