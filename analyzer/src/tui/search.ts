import type { Screenful } from './context.ts';
import type { Data } from './data.ts';
import { listQueues } from './model/queues.ts';
import { listRoutes } from './model/routes.ts';
import { visibleRows } from './model/rows.ts';
import { nextWait } from './model/trace.ts';
import { current, type UiState, update } from './state.ts';

/** `n` and `N`: next wait in a trace, next match of the search elsewhere. */
export function step(state: UiState, data: Data, list: Screenful['list'], by: 1 | -1): UiState {
  const frame = current(state);
  if (frame.view === 'trace' && state.search === '') {
    const trace = data.trace(frame.trace);
    if (!trace) return state;
    const visible = visibleRows(trace, frame.folded);
    const from = visible[Math.min(frame.selected, visible.length - 1)]?.index ?? 0;
    const index = nextWait(trace, from, by);
    const row = visible.findIndex((line) => line.members.includes(index));
    return row < 0
      ? { ...state, message: by === 1 ? 'no further wait' : 'no earlier wait' }
      : update(state, { selected: row });
  }
  if (state.search === '') return { ...state, message: 'press / to look for something first' };
  const names = namesOf(state, data, list);
  for (let offset = 1; offset <= names.length; offset++) {
    const index = (((frame.selected + by * offset) % names.length) + names.length) % names.length;
    if (names[index].toLowerCase().includes(state.search.toLowerCase()))
      return update(state, { selected: index });
  }
  return { ...state, message: `nothing here contains "${state.search}"` };
}

function namesOf(state: UiState, data: Data, list: Screenful['list']): readonly string[] {
  const frame = current(state);
  switch (frame.view) {
    case 'queues':
      return listQueues(data.session, state, frame.sort, frame.reverse).map(({ row }) => row.resource);
    case 'routes':
      return listRoutes(data.session, data, frame).map(({ name }) => name);
    case 'trace': {
      const trace = data.trace(frame.trace);
      return trace
        ? visibleRows(trace, frame.folded).map(
            ({ index }) =>
              `${trace.rows[index].name} ${trace.rows[index].segment} ${trace.rows[index].resource ?? ''}`,
          )
        : [];
    }
    case 'queue':
      return (data.waits(frame.resource)?.examples ?? []).map(
        (wait) =>
          `${data.session.traces.traceIds[wait.trace]} ${data.session.traces.routes[data.session.traces.route[wait.trace]]}`,
      );
    default:
      return list?.texts ?? [];
  }
}
