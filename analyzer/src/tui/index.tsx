import { writeSync } from 'node:fs';
import { render } from 'ink';
import { rate } from '../report/units.ts';
import { App } from './App.tsx';

export { hasNothing } from './App.tsx';

import { Canvas } from './canvas.ts';
import { detectTheme, type Wishes } from './caps.ts';
import type { LiveSession } from './remote-session.ts';
import { save } from './save.ts';

export interface TuiOptions extends Wishes {
  /** The command line that shows the same, for `Y`. */
  readonly command: string;
}

/**
 * On the alternate screen the wheel becomes arrow keys (xterm's mode 1007), which takes no selection of text away as
 * reports of the mouse would. The terminal's own setting is kept before and given back after.
 */
const WHEEL_AS_ARROWS = '\u001b[?1007s\u001b[?1007h';
const WHEEL_AS_BEFORE = '\u001b[?1007r';

/** Leaves whatever state the terminal may be in: synchronized output, alternate screen, hidden cursor, paste mode. */
const RESTORE = `\u001b[?2026l${WHEEL_AS_BEFORE}\u001b[?1049l\u001b[?25h\u001b[?2004l`;

/** Opens the terminal UI. @returns when the reader has quit. */
export async function openTui(live: LiveSession, options: TuiOptions): Promise<void> {
  const theme = detectTheme(process.env, true, options);
  process.stdout.write(WHEEL_AS_ARROWS);
  const canvas = new Canvas(process.stdout);
  const app = render(
    <App
      live={live}
      theme={theme}
      canvas={canvas}
      command={options.command}
      perform={async (effect) => {
        if (effect.kind === 'copy') {
          process.stdout.write(`\u001b]52;c;${Buffer.from(effect.text).toString('base64')}\u0007`);
          return `sent to the terminal's clipboard: ${effect.text}`;
        }
        if (effect.kind === 'save')
          return `written to ${await save(live.session, effect.frame, effect.step)}`;
        if (effect.kind !== 'whatIf') return '';
        const answer = await live.session.whatIf(effect.change);
        const range = answer.kneePerSecond;
        const knee = range ? `knee ${rate(range.low)} to ${rate(range.high)}` : answer.text;
        return `${answer.change}: ${knee}${answer.next ? `, then ${answer.next.resource}` : ''}`;
      }}
      suspend={suspend}
      onStop={onStop}
    />,
    {
      stdout: canvas.stdout,
      alternateScreen: true,
      // A frame costs a few ms, and a key waits for the end of the frame before it.
      maxFps: 250,
      exitOnCtrlC: true,
      interactive: true,
      patchConsole: false,
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
    canvas.close();
    process.stdout.write(WHEEL_AS_BEFORE);
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
  process.stdout.write(WHEEL_AS_BEFORE);
  const keepAlive = setInterval(() => {}, 60_000);
  await new Promise<void>((resolve) => {
    process.once('SIGCONT', () => resolve());
    process.kill(0, 'SIGSTOP');
  });
  clearInterval(keepAlive);
  process.stdout.write(WHEEL_AS_ARROWS);
}
