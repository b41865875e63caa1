import { writeSync } from 'node:fs';
import { render } from 'ink';
import { rate } from '../report/units.ts';
import { App } from './App.tsx';
import { detectTheme, type Wishes } from './caps.ts';
import { save } from './save.ts';
import type { Session } from './session.ts';

export interface TuiOptions extends Wishes {
  /** The command line that shows the same, for `Y`. */
  readonly command: string;
}

/** Leaves whatever state the terminal may be in: synchronized output, alternate screen, hidden cursor, paste mode. */
const RESTORE = '\u001b[?2026l\u001b[?1049l\u001b[?25h\u001b[?2004l';

/** Opens the terminal UI. @returns when the reader has quit. */
export async function openTui(session: Session, options: TuiOptions): Promise<void> {
  const theme = detectTheme(process.env, true, options);
  const app = render(
    <App
      session={session}
      theme={theme}
      command={options.command}
      perform={async (effect) => {
        if (effect.kind === 'copy') {
          process.stdout.write(`\u001b]52;c;${Buffer.from(effect.text).toString('base64')}\u0007`);
          return `sent to the terminal's clipboard: ${effect.text}`;
        }
        if (effect.kind === 'save') return `written to ${await save(session, effect.view, effect.trace)}`;
        if (effect.kind !== 'whatIf') return '';
        const answer = await session.whatIf(effect.change);
        const range = answer.kneePerSecond;
        const knee = range ? `knee ${rate(range.low)} to ${rate(range.high)}` : answer.text;
        return `${answer.change}: ${knee}${answer.next ? `, then ${answer.next.resource}` : ''}`;
      }}
      suspend={suspend}
      onStop={onStop}
    />,
    {
      alternateScreen: true,
      maxFps: 60,
      exitOnCtrlC: true,
      interactive: true,
      patchConsole: false,
      incrementalRendering: Boolean(process.env['SSH_CONNECTION']),
    },
  );
  const onError = (error: unknown): void => {
    app.unmount();
    writeSync(process.stdout.fd, RESTORE);
    console.error(`waitfall stopped: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(70);
  };
  process.once('uncaughtException', onError);
  try {
    await app.waitUntilExit();
  } finally {
    process.off('uncaughtException', onError);
  }
}

function suspend(suspendTerminal: (callback: () => Promise<void>) => Promise<void>): void {
  void suspendTerminal(stopUntilContinued);
}

function onStop(stop: () => void): () => void {
  process.on('SIGTSTP', stop);
  return () => void process.off('SIGTSTP', stop);
}

/**
 * Raw mode swallows Ctrl-Z, so the process stops itself and, as the terminal would, its whole group: behind `npx` the
 * shell waits for a process that is not this one. The timer keeps this one alive until the shell continues it.
 */
async function stopUntilContinued(): Promise<void> {
  const keepAlive = setInterval(() => {}, 60_000);
  await new Promise<void>((resolve) => {
    process.once('SIGCONT', () => resolve());
    process.kill(0, 'SIGSTOP');
  });
  clearInterval(keepAlive);
}
