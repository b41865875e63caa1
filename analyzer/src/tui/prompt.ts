import { parseChange } from '../infer/change.ts';
import type { Screenful } from './context.ts';
import type { Data } from './data.ts';
import { keepingSelection } from './keep-selection.ts';
import type { Press } from './press.ts';
import { step } from './search.ts';
import { type PromptKind, type UiState, update } from './state.ts';

/** @returns the state after one key typed into the line at the bottom. */
export function typeInto(state: UiState, key: string, data: Data, list: Screenful['list']): Press {
  const prompt = state.prompt!;
  if (key === 'escape') return stay({ ...state, prompt: null });
  if (key === 'backspace') return stay({ ...state, prompt: { ...prompt, text: prompt.text.slice(0, -1) } });
  if (key === 'enter') return submit({ ...state, prompt: null }, prompt.kind, prompt.text.trim(), data, list);
  // Named keys (arrows, tab) are longer than one character and mean nothing in a line of text.
  if ([...key].length !== 1) return stay(state);
  return stay({ ...state, prompt: { ...prompt, text: prompt.text + key } });
}

function submit(state: UiState, kind: PromptKind, text: string, data: Data, list: Screenful['list']): Press {
  switch (kind) {
    case 'filter':
      return stay(keepingSelection(state, data, { filter: text }));
    case 'by':
      return stay(update(state, { by: text, selected: 0, top: 0 }));
    case 'whatIf': {
      const wrong = text === '' ? '' : refusal(text, data);
      if (text === '' || wrong !== '') return stay({ ...state, message: wrong });
      return { state: { ...state, message: 'predicting …' }, effects: [{ kind: 'whatIf', change: text }] };
    }
    case 'find': {
      const searching = { ...state, search: text };
      return stay(text === '' ? searching : step(searching, data, list, 1));
    }
  }
}

/** @returns why a change cannot be asked for, short enough for the last line; empty where it can. */
function refusal(text: string, { session }: Data): string {
  const resources = session.report.resources.map((row) => row.resource);
  try {
    const { resource } = parseChange(text);
    return resources.includes(resource) ? '' : `no queue is called '${resource}': 3 lists them`;
  } catch {
    return `not understood: write for example ${resources[0] ?? 'QUEUE'} hold x0.5`;
  }
}

function stay(state: UiState): Press {
  return { state, effects: [] };
}
