import type { View } from './state.ts';

/** What a key does; the reducer has one branch for each. */
export type Action =
  | 'up'
  | 'down'
  | 'first'
  | 'last'
  | 'pageUp'
  | 'pageDown'
  | 'open'
  | 'back'
  | 'fold'
  | 'unfold'
  | 'find'
  | 'next'
  | 'previous'
  | 'help'
  | 'quit'
  | 'blocker'
  | 'unblock'
  | 'sort'
  | 'reverse'
  | 'earlier'
  | 'later'
  | 'strip'
  | 'otherPart'
  | 'share'
  | 'matrix'
  | 'by'
  | 'whatIf'
  | 'confidence'
  | 'details'
  | 'copy'
  | 'copyCommand'
  | 'save';

export interface Binding {
  /** Names as the input layer gives them: a character, or `down`, `enter`, `escape`, `tab`, … */
  readonly keys: readonly string[];
  readonly action: Action;
  /** Views it works in; absent means all. */
  readonly views?: readonly View[];
  /** How the footer and the help page name the key. */
  readonly shown: string;
  readonly label: string;
  /** Labels that say it better in one view. */
  readonly labels?: Readonly<Partial<Record<View, string>>>;
  /** Order in the footer, smaller first; absent means help page only. */
  readonly footer?: number;
  /** Other places in the footer of one view. */
  readonly footers?: Readonly<Partial<Record<View, number>>>;
}

const LISTS: readonly View[] = [
  'steps',
  'queues',
  'routes',
  'traces',
  'trace',
  'queue',
  'input',
  'help',
  'confidence',
  'compare',
];

/** Every key, once: dispatch, footer and help page are made of this table. */
export const BINDINGS: readonly Binding[] = [
  {
    keys: ['enter'],
    action: 'open',
    views: ['verdict', 'steps', 'queues', 'routes', 'traces', 'trace', 'queue'],
    shown: 'Enter',
    label: 'open',
    labels: {
      verdict: 'first queue',
      steps: 'traces of the step',
      routes: 'traces of the route',
      trace: 'details',
      queue: 'trace',
    },
    footer: 1,
    footers: { trace: 9.5 },
  },
  {
    keys: ['b'],
    action: 'blocker',
    views: ['verdict', 'queues', 'queue', 'traces', 'trace'],
    shown: 'b',
    label: 'blocker',
    labels: {
      verdict: 'slowest blocked trace',
      queues: 'longest wait',
      queue: 'longest wait',
      traces: 'blocker',
    },
    footer: 2,
  },
  { keys: ['B'], action: 'unblock', views: ['trace'], shown: 'B', label: 'back to the waiter', footer: 2.5 },
  {
    keys: ['n'],
    action: 'next',
    shown: 'n',
    label: 'next match',
    labels: { trace: 'next wait' },
    views: LISTS,
    footer: 10,
    footers: { trace: 3 },
  },
  {
    keys: ['N'],
    action: 'previous',
    shown: 'N',
    label: 'previous match',
    labels: { trace: 'previous wait' },
    views: LISTS,
  },
  { keys: ['p'], action: 'strip', views: ['trace'], shown: 'p', label: 'partition strip', footer: 4 },
  { keys: ['t'], action: 'otherPart', views: ['trace'], shown: 't', label: 'other part of the trace' },
  { keys: ['l', 'right'], action: 'unfold', views: ['trace'], shown: 'l', label: 'unfold' },
  { keys: ['h', 'left'], action: 'fold', views: ['trace'], shown: 'h', label: 'fold', footer: 5 },
  { keys: ['tab'], action: 'details', views: ['trace'], shown: 'Tab', label: 'details' },
  {
    keys: ['w'],
    action: 'whatIf',
    views: ['verdict', 'queues', 'queue'],
    shown: 'w',
    label: 'what if',
    footer: 4,
  },
  { keys: ['c'], action: 'confidence', views: ['verdict'], shown: 'c', label: 'why so sure', footer: 5 },
  {
    keys: ['['],
    action: 'earlier',
    views: ['verdict', 'queues', 'queue', 'steps'],
    shown: '[',
    label: 'earlier step',
  },
  {
    keys: [']'],
    action: 'later',
    views: ['verdict', 'queues', 'queue', 'steps'],
    shown: '[ ]',
    label: 'step',
    footer: 6,
  },
  { keys: ['x'], action: 'share', views: ['steps'], shown: 'x', label: 'time or share', footer: 3 },
  { keys: ['m'], action: 'matrix', views: ['routes'], shown: 'm', label: 'route × resource', footer: 3 },
  { keys: ['a'], action: 'by', views: ['routes'], shown: 'a', label: 'split by attribute', footer: 4 },
  {
    keys: ['s'],
    action: 'sort',
    views: ['queues', 'traces', 'routes'],
    shown: 's',
    label: 'sort',
    footer: 5,
  },
  { keys: ['S'], action: 'reverse', views: ['queues', 'traces', 'routes'], shown: 'S', label: 'reverse' },
  {
    keys: ['/'],
    action: 'find',
    views: LISTS,
    shown: '/',
    label: 'find',
    labels: { traces: 'filter' },
    footer: 7,
  },
  { keys: ['y'], action: 'copy', shown: 'y', label: 'copy', footer: 11 },
  { keys: ['Y'], action: 'copyCommand', shown: 'Y', label: 'copy the command line' },
  { keys: ['o'], action: 'save', shown: 'o', label: 'save', footer: 12 },
  {
    keys: ['escape', 'backspace'],
    action: 'back',
    shown: 'Esc',
    label: 'back',
    footer: 8,
    footers: { trace: 2.7 },
  },
  { keys: ['j', 'down'], action: 'down', shown: 'j', label: 'down' },
  { keys: ['k', 'up'], action: 'up', shown: 'k', label: 'up' },
  { keys: ['g', 'home'], action: 'first', shown: 'g', label: 'first' },
  { keys: ['G', 'end'], action: 'last', shown: 'G', label: 'last' },
  { keys: ['pageDown', ' '], action: 'pageDown', shown: 'PgDn', label: 'page down' },
  { keys: ['pageUp'], action: 'pageUp', shown: 'PgUp', label: 'page up' },
  { keys: ['?'], action: 'help', shown: '?', label: 'help' },
  { keys: ['q'], action: 'quit', shown: 'q', label: 'quit', footer: 7.5 },
];

/** @returns what a key does in a view, or undefined. */
export function actionOf(view: View, key: string): Action | undefined {
  return BINDINGS.find((binding) => binding.keys.includes(key) && worksIn(binding, view))?.action;
}

/** @returns true when the binding means something in that view. */
export function worksIn(binding: Binding, view: View): boolean {
  return binding.views === undefined || binding.views.includes(view);
}

/** @returns where a binding stands in the footer of a view, smaller first; infinite for those that do not. */
export function footerOrder(binding: Binding, view: View): number {
  return binding.footers?.[view] ?? binding.footer ?? Number.POSITIVE_INFINITY;
}

/** @returns the label of a binding in a view. */
export function labelIn(binding: Binding, view: View): string {
  return binding.labels?.[view] ?? binding.label;
}
