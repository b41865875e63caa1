import { Text, Transform, useApp, useInput, useWindowSize } from 'ink';
import { useEffect, useMemo, useReducer, useRef } from 'react';
import { Data } from './data.ts';
import { type Drawn, draw } from './frame.ts';
import { keysOf } from './input-keys.ts';
import { plain } from './line.ts';
import { type Effect, press, settle } from './press.ts';
import type { Session } from './session.ts';
import { initialState } from './state.ts';
import { paint, type Theme } from './theme.ts';

export interface AppProps {
  readonly session: Session;
  readonly theme: Theme;
  /** The command line that shows the same, for `Y`. */
  readonly command: string;
  /** Does what a key asks of the world; @returns a line for the reader, if any. */
  readonly perform: (effect: Effect) => Promise<string>;
  /** Gives the terminal back to the shell until the process is continued. */
  readonly suspend: (suspend: (callback: () => Promise<void>) => Promise<void>) => void;
  /** Calls back when another process asks this one to stop; @returns what ends that. */
  readonly onStop: (stop: () => void) => () => void;
}

const NOTHING: Drawn = { lines: [], list: undefined, copy: '' };

/**
 * The whole terminal application: keys go into the reducer, its state is drawn as finished lines. Ink measures a
 * blank text of the same size and the lines are put in its place, so that it never has to measure ours.
 */
export function App({ session, theme, command, perform, suspend, onStop }: AppProps) {
  const { exit, suspendTerminal } = useApp();
  const { columns, rows } = useWindowSize();
  const [, repaint] = useReducer((n: number) => n + 1, 0);
  const data = useMemo(() => new Data(session, repaint), [session]);
  const state = useRef(initialState(session));
  state.current = settle(state.current, data);
  // A screen that cannot be drawn ends the application with its own error, once the terminal is whole again.
  const guarded = (drawIt: () => Drawn): Drawn => {
    try {
      return drawIt();
    } catch (error) {
      queueMicrotask(() => exit(error instanceof Error ? error : new Error(String(error))));
      return NOTHING;
    }
  };
  const last = useRef<{ readonly key: readonly unknown[]; readonly drawn: Drawn }>(null);
  // A key asks for the screen it was pressed on: that has just been drawn.
  const screen = (): Drawn => {
    const key = [state.current, data.version, columns, rows, theme];
    if (!last.current || key.some((part, index) => part !== last.current!.key[index]))
      last.current = { key, drawn: guarded(() => draw(state.current, data, columns, rows, theme)) };
    return last.current.drawn;
  };
  const drawn = screen();

  useEffect(() => onStop(() => suspend(suspendTerminal)), [onStop, suspend, suspendTerminal]);

  useInput((input, key) => {
    if (key.ctrl && input === 'z') {
      suspend(suspendTerminal);
      return;
    }
    // One read may carry several keys ("jjj" over a slow line): every one of them is obeyed.
    for (const name of keysOf(input, key)) {
      const now = screen();
      const result = press(state.current, name, { data, list: now.list, copy: now.copy, command });
      state.current = settle(result.state, data);
      for (const effect of result.effects) {
        if (effect.kind === 'quit') {
          exit();
          return;
        }
        perform(effect).then(
          (message) => {
            const changes =
              effect.kind === 'whatIf' ? [...state.current.changes, message] : state.current.changes;
            state.current = { ...state.current, message, changes };
            repaint();
          },
          (error: unknown) => {
            state.current = {
              ...state.current,
              message: error instanceof Error ? error.message : String(error),
            };
            repaint();
          },
        );
      }
    }
    repaint();
  });

  const painted = drawn.lines.map((line) => paint(line, theme));
  const blank = useMemo(
    () => Array.from({ length: Math.max(1, rows - 1) }, () => ' '.repeat(columns)).join('\n'),
    [columns, rows],
  );
  return (
    <Transform
      transform={(_, index) => painted[index] ?? ''}
      accessibilityLabel={drawn.lines.map(plain).join('\n')}
    >
      <Text>{blank}</Text>
    </Transform>
  );
}
