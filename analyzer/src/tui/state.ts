import type { Session } from './session.ts';

/** The views a number key opens, in order. Compare is there only with two inputs. */
export const ROOT_VIEWS = ['verdict', 'steps', 'queues', 'routes', 'traces', 'input', 'compare'] as const;
export type RootView = (typeof ROOT_VIEWS)[number];
export type View = RootView | 'queue' | 'trace' | 'confidence' | 'help';

/** One opened view with everything that must survive going away and coming back. */
export interface Frame {
  readonly view: View;
  /** What is opened: a resource name, a trace index, a row of a trace. */
  readonly resource: string;
  readonly trace: number;
  readonly row: number;
  /** Position in the list, and the first row on the screen. */
  readonly selected: number;
  readonly top: number;
  /** Index of the sort column; reversed order. */
  readonly sort: number;
  readonly reverse: boolean;
  readonly filter: string;
  /** Attribute the routes are split by. */
  readonly by: string;
  /** View switches such as `strip`, `share`, `details`. */
  readonly on: readonly string[];
  /** Rows folded in a trace. */
  readonly folded: readonly number[];
}

export type PromptKind = 'filter' | 'find' | 'whatIf' | 'by';

export interface UiState {
  readonly stack: readonly Frame[];
  /** Frames of root views left behind, so that their place is kept. */
  readonly kept: Readonly<Partial<Record<RootView, Frame>>>;
  readonly prompt: { readonly kind: PromptKind; readonly text: string } | null;
  /** Selected window (step), index into the report's windows; -1 when there are none. */
  readonly step: number;
  /** Text looked for with `/` inside a view, kept for n and N. */
  readonly search: string;
  /** One line for the reader, gone with the next key. */
  readonly message: string;
  /** A key that waits for something to load. */
  readonly pending: 'blocker' | 'open' | null;
  /** Changes asked about with `w`. */
  readonly changes: readonly string[];
}

const NEW_FRAME: Omit<Frame, 'view'> = {
  resource: '',
  trace: -1,
  row: -1,
  selected: 0,
  top: 0,
  sort: 0,
  reverse: false,
  filter: '',
  by: '',
  on: [],
  folded: [],
};

/** @returns a fresh frame of a view. */
export function frameOf(view: View, set: Partial<Frame> = {}): Frame {
  return { ...NEW_FRAME, view, ...set };
}

/** @returns the state a session starts in: the verdict, and the step around the knee. */
export function initialState(session: Session): UiState {
  return {
    stack: [frameOf(session.comparison ? 'compare' : 'verdict')],
    kept: {},
    prompt: null,
    step: kneeStep(session),
    search: '',
    message: '',
    pending: null,
    changes: [],
  };
}

/** @returns the state once the analysis is complete: at the step around the knee, and at the comparison where there is one. */
export function completed(state: UiState, session: Session): UiState {
  const atStart = state.stack.length === 1 && state.stack[0].view === 'verdict';
  const stack = session.comparison && atStart ? [frameOf('compare')] : state.stack;
  return { ...state, stack, step: kneeStep(session) };
}

/**
 * The first window that arrives faster than the knee and whose backlog grows, else the first that is faster, else the
 * busiest. Warming up and recovery are not looked at first: they show something else.
 */
function kneeStep(session: Session): number {
  const { windows, verdict } = session.report;
  if (windows.length === 0) return -1;
  const knee = verdict.kneePerSecond;
  const over = windows.flatMap((window, index) =>
    knee !== null && window.receivedPerSecond > knee && !/^(warmup|recovery)$/.test(window.phase ?? '')
      ? [index]
      : [],
  );
  const growing = over.find((index) => windows[index].stable === false);
  if (growing !== undefined) return growing;
  if (over.length > 0) return over[0];
  let busiest = 0;
  windows.forEach((window, index) => {
    if (window.receivedPerSecond > windows[busiest].receivedPerSecond) busiest = index;
  });
  return busiest;
}

/** @returns the frame on top. */
export function current(state: UiState): Frame {
  return state.stack[state.stack.length - 1];
}

/** @returns the state with the top frame changed. */
export function update(state: UiState, set: Partial<Frame>): UiState {
  return { ...state, stack: [...state.stack.slice(0, -1), { ...current(state), ...set }] };
}

/** @returns the state with a view opened on top of the present one. */
export function push(state: UiState, frame: Frame): UiState {
  return { ...state, stack: [...state.stack, frame] };
}

/** @returns the state one view back; the last view stays. */
export function pop(state: UiState): UiState {
  return state.stack.length > 1 ? { ...state, stack: state.stack.slice(0, -1) } : state;
}

/** @returns the state with a root view in place of the whole stack, where it was left. */
export function goTo(state: UiState, view: RootView): UiState {
  const left = state.stack[0];
  const kept = { ...state.kept, [left.view]: left };
  return { ...state, kept, stack: [kept[view] ?? frameOf(view)] };
}

/** @returns true when a switch of the top frame is on. */
export function isOn(frame: Frame, name: string): boolean {
  return frame.on.includes(name);
}

/** @returns the state with a switch of the top frame turned over. */
export function toggle(state: UiState, name: string): UiState {
  const { on } = current(state);
  return update(state, { on: on.includes(name) ? on.filter((other) => other !== name) : [...on, name] });
}
