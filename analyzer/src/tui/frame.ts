import type { Context, Screen, Screenful } from './context.ts';
import type { Data } from './data.ts';
import { BINDINGS, footerOrder, labelIn, worksIn } from './keys.ts';
import { DIM, fit, type Line, lineWidth, type Part, spread } from './line.ts';
import { canShow } from './model/progress.ts';
import { compareScreen } from './screen/compare.ts';
import { confidenceScreen } from './screen/confidence.ts';
import { helpScreen } from './screen/help.ts';
import { inputScreen } from './screen/input.ts';
import { progressScreen } from './screen/progress.ts';
import { queueScreen } from './screen/queue.ts';
import { queuesScreen } from './screen/queues.ts';
import { routesScreen } from './screen/routes.ts';
import { stepsScreen } from './screen/steps.ts';
import { traceScreen } from './screen/trace.ts';
import { tracesScreen } from './screen/traces.ts';
import { verdictScreen } from './screen/verdict.ts';
import { current, type PromptKind, ROOT_VIEWS, type RootView, type UiState, type View } from './state.ts';
import type { Theme } from './theme.ts';
import { width } from './width.ts';

/** Below this nothing readable fits. */
export const MIN_COLUMNS = 60;
export const MIN_ROWS = 18;

const SCREENS: Readonly<Record<View, Screen>> = {
  verdict: verdictScreen,
  steps: stepsScreen,
  queues: queuesScreen,
  routes: routesScreen,
  traces: tracesScreen,
  input: inputScreen,
  compare: compareScreen,
  queue: queueScreen,
  trace: traceScreen,
  confidence: confidenceScreen,
  help: helpScreen,
};

export interface Drawn {
  /** rows - 1 lines, each exactly as wide as the terminal: as many as the terminal has would make it scroll. */
  readonly lines: readonly Line[];
  readonly list: Screenful['list'];
  readonly copy: string;
}

/** Draws the whole screen of a state. Pure: the same state and size give the same lines. */
export function draw(state: UiState, data: Data, columns: number, rows: number, theme: Theme): Drawn {
  const height = Math.max(1, rows - 1);
  if (columns < MIN_COLUMNS || rows < MIN_ROWS) {
    const text = `waitfall needs ${MIN_COLUMNS}x${MIN_ROWS}, this is ${columns}x${rows}`;
    const blank: Line[] = Array.from({ length: height - 1 }, () => []);
    return {
      lines: [[[text]] as Line, ...blank].map((line) => fit(line, columns)),
      list: undefined,
      copy: '',
    };
  }
  const frame = current(state);
  const context: Context = { session: data.session, data, state, frame, theme, columns, rows: height - 3 };
  const known = canShow(frame.view, data.session.stage);
  const screen = (known ? SCREENS[frame.view] : progressScreen)(context);
  const body: Line[] = [...screen.lines.slice(0, context.rows)];
  while (body.length < context.rows) body.push([]);
  const all: Line[] = [
    tabs(state, data, columns),
    spread(screen.heading, screen.aside ?? [], columns),
    ...body,
    footer(state, data, columns),
  ];
  return { lines: all.map((line) => fit(line, columns)), list: screen.list, copy: screen.copy ?? '' };
}

/** The root views this session offers. */
export function offered(data: Data): readonly RootView[] {
  return data.session.comparison ? ROOT_VIEWS : ROOT_VIEWS.filter((view) => view !== 'compare');
}

/** The views by number; where the line is too short for all names, only the present one keeps its name. */
function tabs(state: UiState, data: Data, columns: number): Line {
  const here = rootOf(state);
  const views = offered(data);
  const line = (gap: string, named: (view: RootView) => boolean): Part[] => [
    ...(columns >= 100 ? [[' waitfall  ', { bold: true }] as Part] : []),
    ...views.flatMap((view, index): Part[] => {
      const name = named(view) ? ` ${view[0].toUpperCase()}${view.slice(1)}` : '';
      return [[gap], [`${index + 1}${name}`, view === here ? { bold: true, underline: true } : DIM], [gap]];
    }),
  ];
  const help: Line = [['? help ', DIM]];
  const fits = (parts: Line): boolean => lineWidth(parts) + lineWidth(help) < columns;
  const all = line(' ', () => true);
  return spread(fits(all) ? all : line(' ', (view) => view === here), help, columns);
}

/** The tab a detail view belongs to. */
function rootOf(state: UiState): View {
  const view = current(state).view;
  if (view === 'trace') return 'traces';
  if (view === 'queue') return 'queues';
  return state.stack[0].view;
}

function footer(state: UiState, data: Data, columns: number): Line {
  if (state.prompt) return promptLine(state.prompt, columns);
  const message = state.message || data.error || (state.pending ? 'loading …' : '');
  if (message) return [[` ${message}`, { fg: 'warn' }]];
  const { view } = current(state);
  const known = canShow(view, data.session.stage);
  const shown = BINDINGS.filter(
    (binding) =>
      binding.footer !== undefined &&
      worksIn(binding, view) &&
      (known || binding.action === 'quit') &&
      // Back along the blockers, where some have been followed.
      (binding.action !== 'unblock' || state.stack.at(-2)?.view === 'trace'),
  ).sort((x, y) => footerOrder(x, view) - footerOrder(y, view));
  const parts: Part[] = [[' ']];
  let used = 1;
  for (const binding of shown) {
    const label = ` ${labelIn(binding, view)}  `;
    if (used + width(binding.shown) + width(label) > columns) break;
    parts.push([binding.shown, { bold: true }], [label, DIM]);
    used += width(binding.shown) + width(label);
  }
  return parts;
}

/** What is asked for, and examples of an answer. */
const PROMPTS: Readonly<Record<PromptKind, readonly [title: string, example: string]>> = {
  filter: ['filter: ', 'route:signup status:timeout lock_wait>10ms'],
  find: ['find: ', ''],
  whatIf: ['what if ', 'hold x0.5, visits x0.5 or capacity 20'],
  by: ['split by attribute: ', ''],
};
const TYPING = 'Enter: go  Esc: leave';

/** The line that is typed into: of a long text the end stays in view, what does not fit beside it is left out. */
function promptLine({ kind, text }: NonNullable<UiState['prompt']>, columns: number): Line {
  const [title, example] = PROMPTS[kind];
  const room = columns - width(title) - 2;
  let typed = text;
  while (width(typed) > room) typed = typed.slice(1);
  const hints = example === '' ? [TYPING] : [`${example}   ${TYPING}`, example, TYPING];
  const hint = hints.find((each) => width(typed) + 3 + width(each) <= room) ?? '';
  return [[` ${title}`, { bold: true }], [typed], ['▏'], [`   ${hint}`, DIM]];
}
