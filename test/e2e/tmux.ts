import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The command as users have it. */
export const COMMAND = fileURLToPath(new URL('../../analyzer/bin/waitfall.js', import.meta.url));

/** Why tests in a real terminal cannot run here; false where they can. */
export const skip =
  spawnSync('tmux', ['-V']).status === 0
    ? false
    : 'tmux is not installed: the real-terminal tests did not run';

/** A real terminal: tmux on a server of its own, without anybody's settings. */
export class Terminal {
  readonly #name = `waitfall-${process.pid}-${Math.random().toString(36).slice(2)}`;

  #tmux(...args: readonly string[]): string {
    const run = spawnSync('tmux', ['-L', this.#name, '-f', '/dev/null', ...args], { encoding: 'utf8' });
    return run.stdout;
  }

  /** @param settings further environment variables, as `NAME=value …`. */
  open(columns: number, rows: number, file: string, settings = ''): void {
    const env = `env -u CI -u NO_COLOR -u COLORTERM -u INK_SCREEN_READER TERM=tmux-256color LANG=C.UTF-8 ${settings}`;
    const line = `${env} ${process.execPath} ${COMMAND} ${file}; echo "ended with $?"; stty -a | grep -o '.icanon\\|icanon' | head -1; sleep 60`;
    this.#tmux('new-session', '-d', '-s', 'g', '-x', String(columns), '-y', String(rows), line);
  }

  /** An interactive shell, for what only job control shows. */
  openShell(columns: number, rows: number, folder: string): void {
    const env = 'env -u CI -u NO_COLOR -u INK_SCREEN_READER TERM=tmux-256color LANG=C.UTF-8 PS1="shell> "';
    const line = `${env} bash --norc --noprofile -i`;
    this.#tmux('new-session', '-d', '-s', 'g', '-c', folder, '-x', String(columns), '-y', String(rows), line);
  }

  /** The process the shell started. */
  child(): number {
    const shell = this.#tmux('display', '-p', '-t', 'g', '#{pane_pid}').trim();
    return Number(readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').trim().split(' ').at(-1));
  }

  screen(): string {
    return this.#tmux('capture-pane', '-p', '-t', 'g');
  }

  /** The screen with its escape codes. */
  coloured(): string {
    return this.#tmux('capture-pane', '-p', '-e', '-t', 'g');
  }

  /** Waits for content, never for a time; the limit only ends a test that has failed. */
  async until(pattern: RegExp): Promise<string> {
    for (let tries = 0; tries < 600; tries++) {
      const screen = this.screen();
      if (pattern.test(screen)) return screen;
      await sleep(50);
    }
    throw new Error(`no ${pattern} on the screen:\n${this.screen()}`);
  }

  press(...keys: readonly string[]): void {
    this.#tmux('send-keys', '-t', 'g', ...keys);
  }

  /** Presses a key again until it shows: what is typed while a program comes back to the foreground may be lost. */
  async pressUntil(key: string, pattern: RegExp): Promise<void> {
    for (let tries = 0; tries < 60; tries++) {
      this.press(key);
      for (let looks = 0; looks < 10; looks++) {
        if (pattern.test(this.screen())) return;
        await sleep(50);
      }
    }
    throw new Error(`no ${pattern} on the screen after ${key}:\n${this.screen()}`);
  }

  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-t', 'g', '-x', String(columns), '-y', String(rows));
  }

  state(): string {
    return this.#tmux('display', '-p', '-t', 'g', '#{alternate_on} #{cursor_flag}').trim();
  }

  close(): void {
    this.#tmux('kill-server');
  }
}

/** Opens the command on a file in a terminal, and closes that whatever happens. */
export async function inTerminal(
  columns: number,
  rows: number,
  file: string,
  use: (terminal: Terminal) => Promise<void>,
  settings = '',
): Promise<void> {
  const terminal = new Terminal();
  terminal.open(columns, rows, file, settings);
  try {
    await use(terminal);
  } finally {
    terminal.close();
  }
}
