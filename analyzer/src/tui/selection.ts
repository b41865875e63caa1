import type { Data } from './data.ts';
import { listQueues } from './model/queues.ts';
import { current, type UiState } from './state.ts';

/** @returns the queue the reader is looking at: the opened or selected one, else the first of the verdict; empty for none. */
export function selectedQueue(state: UiState, data: Data): string {
  const frame = current(state);
  if (frame.view === 'queue') return frame.resource;
  if (frame.view === 'queues')
    return listQueues(data.session, state, frame.sort, frame.reverse)[frame.selected]?.row.resource ?? '';
  return data.session.report.verdict.first?.resource ?? '';
}
