import type { Data } from './data.ts';
import { visibleRows } from './model/rows.ts';
import { longestWait } from './model/trace.ts';
import { orderTraces } from './model/traces.ts';
import { selectedQueue } from './selection.ts';
import { current, frameOf, push, type UiState } from './state.ts';

/** One key nearer to whoever held the request up: the slowest blocked trace, its longest wait, its blocker. */
export function toBlocker(state: UiState, data: Data): UiState {
  const frame = current(state);
  const { session } = data;
  if (frame.view === 'trace') {
    const trace = data.trace(frame.trace);
    if (!trace) return state;
    const visible = visibleRows(trace, frame.folded);
    const line = visible[Math.min(frame.selected, visible.length - 1)];
    const here = line ? trace.rows[line.index] : undefined;
    const waiting = here && here.blockers.length > 0 ? here : trace.rows[longestWait(trace)];
    const blocker = waiting?.blockers[0];
    if (!blocker) return { ...state, message: 'nobody is recorded as holding this trace up' };
    if (blocker.trace < 0) return { ...state, message: `the blocker ${blocker.traceId} is not in the input` };
    return push(state, frameOf('trace', { trace: blocker.trace, row: blocker.row }));
  }
  if (frame.view === 'traces') {
    const { order } = orderTraces(session, frame.filter, frame.sort, frame.reverse);
    const trace = order[Math.min(frame.selected, order.length - 1)];
    return trace === undefined ? state : push(state, frameOf('trace', { trace, row: -2 }));
  }
  const resource = selectedQueue(state, data);
  const waits = resource === '' ? [] : data.waits(resource);
  if (waits === undefined) return { ...state, message: 'still loading the waits; press b again' };
  const wait = waits.find((example) => example.blocker !== null) ?? waits[0];
  if (!wait) return { ...state, message: 'no wait is recorded for this queue' };
  return push(state, frameOf('trace', { trace: wait.trace, row: wait.row }));
}
