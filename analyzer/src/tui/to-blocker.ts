import type { Data } from './data.ts';
import { visibleRows } from './model/rows.ts';
import { longestWait } from './model/trace.ts';
import { orderTraces } from './model/traces.ts';
import { selectedQueue } from './selection.ts';
import type { WaitExample } from './session.ts';
import { current, frameOf, push, type UiState } from './state.ts';

/**
 * One key nearer to whoever held the request up: the slowest blocked trace, its longest wait, its blocker. What has to
 * be loaded first is waited for: `pending` brings the reader there as soon as it has come.
 */
export function toBlocker(before: UiState, data: Data): UiState {
  const state: UiState = { ...before, pending: null };
  const frame = current(state);
  switch (frame.view) {
    case 'trace':
      return fromTrace(state, data);
    case 'traces': {
      const { order } = orderTraces(data.session, frame.filter, frame.sort, frame.reverse);
      const trace = order[Math.min(frame.selected, order.length - 1)];
      return trace === undefined ? state : push(state, frameOf('trace', { trace, row: -2 }));
    }
    case 'verdict':
      return fromQueues(state, data, suspects(data));
    default: {
      const resource = selectedQueue(state, data);
      return fromQueues(state, data, resource === '' ? [] : [resource]);
    }
  }
}

function fromTrace(state: UiState, data: Data): UiState {
  const frame = current(state);
  const trace = data.trace(frame.trace);
  if (!trace) return { ...state, pending: 'blocker' };
  const visible = visibleRows(trace, frame.folded);
  const line = visible[Math.min(frame.selected, visible.length - 1)];
  const here = line ? trace.rows[line.index] : undefined;
  const waiting = here && here.blockers.length > 0 ? here : trace.rows[longestWait(trace)];
  const blocker = waiting?.blockers[0];
  if (!blocker) return { ...state, message: 'nobody is recorded as holding this trace up' };
  if (blocker.trace < 0) return { ...state, message: `the blocker ${blocker.traceId} is not in the input` };
  return push(state, frameOf('trace', { trace: blocker.trace, row: blocker.row }));
}

/** The longest wait of the first queue in which somebody is named; without one, the longest wait of all. */
function fromQueues(state: UiState, data: Data, resources: readonly string[]): UiState {
  let longest: WaitExample | undefined;
  let blocked: WaitExample | undefined;
  for (const resource of resources) {
    const summary = data.waits(resource);
    if (summary === undefined) return { ...state, pending: 'blocker' };
    blocked = summary.examples.find(({ blocker }) => blocker !== null && blocker.trace >= 0);
    if (blocked) break;
    const [first] = summary.examples;
    if (first && (!longest || first.waitNs > longest.waitNs)) longest = first;
  }
  const wait = blocked ?? longest;
  if (!wait) {
    return {
      ...state,
      message: 'no wait is recorded in this export; 6 says what to switch on, 5 lists the slowest traces',
    };
  }
  return push(state, frameOf('trace', { trace: wait.trace, row: wait.row }));
}

/** Queues in which a blocker is worth looking for: those of the verdict, then locks, then all others. */
export function suspects(data: Data): string[] {
  const { verdict, resources } = data.session.report;
  const rest = [...resources].sort((a, b) => Number(b.kind === 'lock') - Number(a.kind === 'lock'));
  return [...new Set([...verdict.chain, ...rest].map(({ resource }) => resource))].slice(0, 12);
}
