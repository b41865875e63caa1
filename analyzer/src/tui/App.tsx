import { Text, Transform, useApp, useInput, useWindowSize } from 'ink';
import { useEffect, useMemo, useReducer, useRef } from 'react';
import type { Canvas } from './canvas.ts';
import { Data } from './data.ts';
import { type Drawn, draw } from './frame.ts';
import { keysOf } from './input-keys.ts';
import { plain } from './line.ts';
import { type Effect, press, settle } from './press.ts';
import type { LiveSession } from './remote-session.ts';
import type { Session } from './session.ts';
import { completed, initialState } from './state.ts';
import { paint, type Theme } from './theme.ts';

export interface AppProps {
  readonly live: LiveSession;
  readonly theme: Theme;
  /** Puts the lines on the terminal; without it Ink does. */
  readonly canvas?: Canvas;
  /** The command line that shows the same, for `Y`. */
  readonly command: string;
  /** Does what a key asks of the world; @returns a line for the reader, if any. */
  readonly perform: (effect: Effect) => Promise<string>;
  /** Gives the terminal back to the shell until the process is continued. */
  readonly suspend: (suspend: (callback: () => Promise<void>) => Promise<void>) => void;
  /** Calls back when another process asks this one to stop; @returns what ends that. */
  readonly onStop: (stop: () => void) => () => void;
}

/** @returns true where no trace can be shown, or nothing to compare with. */
export function hasNothing({ traces, comparison }: Session): boolean {
  return traces.count === 0 || comparison?.report.input.traces === 0;
}

const NOTHING: Drawn = { lines: [], list: undefined, copy: '' };

/**
 * The whole terminal application: keys go into the reducer, its state is drawn as finished lines. Ink measures a
 * blank text of the same size and the lines are put in its place, so that it never has to measure ours.
 */
export function App({ live, theme, canvas, command, perform, suspend, onStop }: AppProps) {
  const { exit, suspendTerminal } = useApp();
  const { columns, rows } = useWindowSize();
  const [, repaint] = useReducer((n: number) => n + 1, 0);
  const data = useMemo(() => new Data(live.session, repaint), [live]);
  const state = useRef(initialState(live.session));
  if (data.session.stage !== 'complete' && live.session.stage === 'complete')
    state.current = completed(state.current, live.session);
  data.update(live.session);
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

  useEffect(() => live.onChange(repaint), [live]);
  // An input without a trace has nothing to show: the text report says why.
  useEffect(() => {
    live.complete.then(
      () => {
        if (hasNothing(live.session)) exit();
      },
      (error: Error) => exit(error),
    );
  }, [live, exit]);
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

  const painted = useMemo(() => drawn.lines.map((line) => paint(line, theme)), [drawn, theme]);
  const blank = useMemo(
    () => Array.from({ length: Math.max(1, rows - 1) }, () => ' '.repeat(columns)).join('\n'),
    [columns, rows],
  );
  if (canvas) return <Text>{canvas.show(painted)}</Text>;
  return (
    <Transform
      transform={(_, index) => painted[index] ?? ''}
      accessibilityLabel={drawn.lines.map(plain).join('\n')}
    >
      <Text>{blank}</Text>
    </Transform>
  );
}
