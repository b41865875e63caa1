import type { Screenful } from './context.ts';
import type { Data } from './data.ts';
import { fold } from './fold.ts';
import { offered } from './frame.ts';
import { keepingSelection } from './keep-selection.ts';
import { type Action, actionOf } from './keys.ts';
import { canShow } from './model/progress.ts';
import { QUEUE_SORTS } from './model/queues.ts';
import { listRoutes, ROUTE_SORTS } from './model/routes.ts';
import { visibleRows } from './model/rows.ts';
import { longestWait } from './model/trace.ts';
import { orderTraces, sortColumns } from './model/traces.ts';
import { typeInto } from './prompt.ts';
import { step } from './search.ts';
import { selectedQueue } from './selection.ts';
import { current, type Frame, frameOf, goTo, pop, push, toggle, type UiState, update } from './state.ts';
import { toBlocker } from './to-blocker.ts';

/** What a key asks of the world outside the state. */
export type Effect =
  | { readonly kind: 'quit' }
  | { readonly kind: 'copy'; readonly text: string }
  | { readonly kind: 'save'; readonly frame: Frame; readonly step: number }
  | { readonly kind: 'whatIf'; readonly change: string };

export interface Press {
  readonly state: UiState;
  readonly effects: readonly Effect[];
}

export interface PressContext {
  readonly data: Data;
  /** The list as it was last drawn. */
  readonly list: Screenful['list'];
  /** What `y` copies. */
  readonly copy: string;
  readonly command: string;
}

/** @returns the state after one key, and what has to be done outside it. Pure. */
export function press(before: UiState, key: string, context: PressContext): Press {
  if (before.prompt) return typeInto(before, key, context.data, context.list);
  const state = before.message || before.pending ? { ...before, message: '', pending: null } : before;
  const digit = /^[1-9]$/.test(key) ? Number(key) : 0;
  const view = digit > 0 ? offered(context.data)[digit - 1] : undefined;
  if (view) return only(goTo(state, view));
  const action = actionOf(current(state).view, key);
  if (!action) return only(state);
  const known = canShow(current(state).view, context.data.session.stage);
  if (!known && !ALWAYS.includes(action))
    return only({ ...state, message: 'not known yet: still analysing' });
  return act(state, action, context);
}

/** What can be done on a view that the analysis has not come to. */
const ALWAYS: readonly Action[] = ['help', 'quit', 'back', 'copyCommand'];

function only(state: UiState): Press {
  return { state, effects: [] };
}

function act(state: UiState, action: Action, context: PressContext): Press {
  const { list, data } = context;
  const frame = current(state);
  const page = Math.max(1, (list?.page ?? 1) - 1);
  switch (action) {
    case 'down':
      return only(move(state, list, 1));
    case 'up':
      return only(move(state, list, -1));
    case 'pageDown':
      return only(move(state, list, page));
    case 'pageUp':
      return only(move(state, list, -page));
    case 'first':
      return only(move(state, list, -Infinity));
    case 'last':
      return only(move(state, list, Infinity));
    case 'open':
      return only(open(state, data));
    case 'back':
      return only(back(state, data));
    case 'help':
      return only(frame.view === 'help' ? pop(state) : push(state, frameOf('help')));
    case 'quit':
      return { state, effects: [{ kind: 'quit' }] };
    case 'copy':
      if (context.copy === '') return only({ ...state, message: 'nothing to copy here' });
      return {
        state: { ...state, message: `sent to the terminal's clipboard: ${context.copy}` },
        effects: [{ kind: 'copy', text: context.copy }],
      };
    case 'copyCommand':
      return {
        state: { ...state, message: `sent to the terminal's clipboard: ${context.command}` },
        effects: [{ kind: 'copy', text: context.command }],
      };
    case 'save':
      return { state, effects: [{ kind: 'save', frame, step: state.step }] };
    case 'sort':
      return only(sortBy(state, data));
    case 'reverse':
      return only(keepingSelection(state, data, { reverse: !frame.reverse }));
    case 'earlier':
    case 'later': {
      const last = data.session.report.windows.length - 1;
      return only({
        ...state,
        step: Math.max(Math.min(0, last), Math.min(last, state.step + (action === 'later' ? 1 : -1))),
      });
    }
    case 'strip':
    case 'share':
    case 'matrix':
    case 'details':
      return only(toggle(state, action));
    case 'find':
      return only({
        ...state,
        prompt: {
          kind: frame.view === 'traces' ? 'filter' : 'find',
          text: frame.view === 'traces' ? frame.filter : '',
        },
      });
    case 'by':
      return only({ ...state, prompt: { kind: 'by', text: frame.by } });
    case 'whatIf':
      return only({ ...state, prompt: { kind: 'whatIf', text: `${selectedQueue(state, data)} ` } });
    case 'confidence':
      return only(push(state, frameOf('confidence')));
    case 'next':
      return only(step(state, data, list, 1));
    case 'previous':
      return only(step(state, data, list, -1));
    case 'fold':
    case 'unfold':
      return only(fold(state, data, action === 'unfold') ?? back(state, data));
    case 'otherPart':
      return only(otherPart(state, data));
    case 'blocker':
      return only(toBlocker(state, data));
    case 'unblock':
      return only(
        state.stack.length > 1 && state.stack.at(-2)?.view === 'trace'
          ? pop(state)
          : { ...state, message: 'this is where the chain of blockers began' },
      );
  }
}

/** The steps view selects a window, which other views share; every other list selects a row of its frame. */
function move(state: UiState, list: Screenful['list'], by: number): UiState {
  if (!list || list.count === 0) return state;
  const frame = current(state);
  const at = frame.view === 'steps' ? state.step : frame.selected;
  const next = Math.max(0, Math.min(list.count - 1, at + by));
  return frame.view === 'steps'
    ? update({ ...state, step: next }, { top: list.top })
    : update(state, { selected: next, top: list.top });
}

function open(state: UiState, data: Data): UiState {
  const frame = current(state);
  const { session } = data;
  switch (frame.view) {
    case 'verdict': {
      const first = session.report.verdict.first?.resource;
      const queues = goTo(state, 'queues');
      return first ? push(queues, frameOf('queue', { resource: first })) : queues;
    }
    case 'steps':
      return push(goTo(state, 'traces'), frameOf('traces', { filter: `step:${state.step + 1}` }));
    case 'queues':
      return push(state, frameOf('queue', { resource: selectedQueue(state, data) }));
    case 'routes': {
      const route = listRoutes(session, data, frame)[frame.selected];
      if (!route || frame.by !== '')
        return {
          ...state,
          message: frame.by === '' ? '' : 'traces can be listed for routes, not for attribute values',
        };
      return push(
        goTo(state, 'traces'),
        frameOf('traces', { filter: `route:${route.name.split(' ').at(-1)}` }),
      );
    }
    case 'traces': {
      const { order } = orderTraces(session, frame.filter, frame.sort, frame.reverse);
      return order.length === 0
        ? state
        : push(state, frameOf('trace', { trace: order[Math.min(frame.selected, order.length - 1)] }));
    }
    case 'queue': {
      const waits = data.waits(frame.resource);
      if (!waits) return { ...state, pending: 'open' };
      const wait = waits.examples[frame.selected];
      return wait ? push(state, frameOf('trace', { trace: wait.trace, row: wait.row })) : state;
    }
    case 'trace':
      return toggle(state, 'details');
    default:
      return state;
  }
}

/** The next tree of the same trace, in place of this one: nothing was followed, so nothing is gone back to. */
function otherPart(state: UiState, data: Data): UiState {
  const { trace } = current(state);
  const parts = data.trace(trace)?.otherParts ?? [];
  if (parts.length === 0) return { ...state, message: 'this trace is in one piece' };
  const next = parts.find((index) => index > trace) ?? parts[0];
  return { ...state, stack: [...state.stack.slice(0, -1), frameOf('trace', { trace: next })] };
}

function back(state: UiState, data: Data): UiState {
  const frame = current(state);
  if (state.search !== '') return { ...state, search: '' };
  if (state.stack.length > 1) return pop(state);
  if (frame.filter !== '') return keepingSelection(state, data, { filter: '' });
  if (frame.by !== '') return update(state, { by: '', selected: 0, top: 0 });
  return frame.view === 'verdict' ? state : goTo(state, 'verdict');
}

function sortBy(state: UiState, data: Data): UiState {
  const frame = current(state);
  const count =
    frame.view === 'queues'
      ? QUEUE_SORTS.length
      : frame.view === 'routes'
        ? ROUTE_SORTS.length
        : sortColumns(data.session).length;
  return keepingSelection(state, data, { sort: (frame.sort + 1) % count });
}

/** What had to wait for data is done once it is there: a key, and the row a trace was opened on (or its longest wait). */
export function settle(before: UiState, data: Data): UiState {
  const state =
    before.pending === 'blocker'
      ? toBlocker(before, data)
      : before.pending === 'open'
        ? open({ ...before, pending: null }, data)
        : before;
  const frame = current(state);
  if (frame.view !== 'trace' || frame.row === -1) return state;
  const trace = data.trace(frame.trace);
  if (!trace) return state;
  const wanted = frame.row === -2 ? longestWait(trace) : trace.rows.findIndex((row) => row.row === frame.row);
  const selected = visibleRows(trace, frame.folded).findIndex((line) => line.members.includes(wanted));
  return update(state, { row: -1, selected: Math.max(0, selected) });
}
