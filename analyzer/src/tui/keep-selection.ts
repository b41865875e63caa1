import type { Data } from './data.ts';
import { listQueues } from './model/queues.ts';
import { listRoutes } from './model/routes.ts';
import { orderTraces } from './model/traces.ts';
import { selectedQueue } from './selection.ts';
import { current, type Frame, type UiState, update } from './state.ts';

/** Sorting and filtering move rows, not the reader: what was selected stays selected wherever it stands now. */
export function keepingSelection(state: UiState, data: Data, set: Partial<Frame>): UiState {
  const frame = current(state);
  const after = update(state, set);
  const next = current(after);
  let selected = 0;
  if (frame.view === 'traces') {
    const id = orderTraces(data.session, frame.filter, frame.sort, frame.reverse).order[frame.selected];
    selected = orderTraces(data.session, next.filter, next.sort, next.reverse).order.indexOf(id);
  } else if (frame.view === 'queues') {
    const name = selectedQueue(state, data);
    selected = listQueues(data.session, state, next.sort, next.reverse).findIndex(
      ({ row }) => row.resource === name,
    );
  } else {
    const name = listRoutes(data.session, data, frame)[frame.selected]?.name;
    selected = listRoutes(data.session, data, next).findIndex((route) => route.name === name);
  }
  return update(after, { selected: Math.max(0, selected), top: 0 });
}
