import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { oneRequest } from './one-request.ts';

/** The command as users have it, in a real terminal. */
const COMMAND = fileURLToPath(new URL('../../analyzer/bin/waitfall.js', import.meta.url));
const hasTmux = spawnSync('tmux', ['-V']).status === 0;
const skip = hasTmux ? false : 'tmux is not installed: the real-terminal tests did not run';
const directory = mkdtempSync(join(tmpdir(), 'waitfall-terminal-'));

class Terminal {
  readonly #name = `waitfall-${process.pid}-${Math.random().toString(36).slice(2)}`;

  #tmux(...args: readonly string[]): string {
    const run = spawnSync('tmux', ['-L', this.#name, '-f', '/dev/null', ...args], { encoding: 'utf8' });
    return run.stdout;
  }

  open(columns: number, rows: number, file: string): void {
    const env = 'env -u CI -u NO_COLOR -u INK_SCREEN_READER TERM=tmux-256color LANG=C.UTF-8';
    const line = `${env} ${process.execPath} ${COMMAND} ${file}; echo "ended with $?"; stty -a | grep -o '.icanon\\|icanon' | head -1; sleep 60`;
    this.#tmux('new-session', '-d', '-s', 'g', '-x', String(columns), '-y', String(rows), line);
  }

  screen(): string {
    return this.#tmux('capture-pane', '-p', '-t', 'g');
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

async function inTerminal(
  columns: number,
  rows: number,
  file: string,
  use: (terminal: Terminal) => Promise<void>,
): Promise<void> {
  const terminal = new Terminal();
  terminal.open(columns, rows, file);
  try {
    await use(terminal);
  } finally {
    terminal.close();
  }
}

const one = join(directory, 'one.jsonl');
before(() => writeFileSync(one, oneRequest()));
after(() => rmSync(directory, { recursive: true, force: true }));

for (const [columns, rows] of [
  [80, 24],
  [160, 50],
]) {
  test(`every view opens at ${columns}x${rows}, and the shell is whole afterwards`, { skip }, async () => {
    await inTerminal(columns, rows, one, async (terminal) => {
      await terminal.until(/1 Verdict/);
      for (const [key, mark] of [
        ['2', /step {2}/],
        ['3', /queues? at step|1 queue|queues /],
        ['4', /1 routes/],
        ['5', /1 of 1 traces/],
        ['6', /span records/],
        ['?', /Keys/],
      ] as const) {
        terminal.press(key);
        await terminal.until(mark);
      }
      terminal.press('Escape');
      terminal.press('5', 'Enter');
      await terminal.until(/wait_for .*signup/);
      terminal.press('p');
      await terminal.until(/parts add up to 10,000,000 ns of 10,000,000 ns/);
      assert.match(terminal.state(), /^1 /);
      terminal.press('q');
      const ended = await terminal.until(/ended with 0/);
      assert.match(ended, /^ *icanon/m);
      assert.equal(terminal.state(), '0 1');
    });
  });
}

test('a resize storm ends in the same screen as a fresh start', { skip }, async () => {
  await inTerminal(100, 30, one, async (terminal) => {
    const fresh = await terminal.until(/Enter first queue/);
    for (const [columns, rows] of [
      [60, 18],
      [200, 60],
      [40, 10],
      [77, 21],
      [250, 70],
    ])
      terminal.resize(columns, rows);
    await terminal.until(/\S {30,}\S/);
    terminal.resize(100, 30);
    for (let tries = 0; tries < 200 && terminal.screen() !== fresh; tries++) await sleep(50);
    assert.equal(terminal.screen(), fresh);
  });
});

test('Ctrl-C and SIGTERM leave the terminal as it was', { skip }, async () => {
  await inTerminal(80, 24, one, async (terminal) => {
    await terminal.until(/Enter first queue/);
    terminal.press('C-c');
    await terminal.until(/ended with/);
    assert.equal(terminal.state(), '0 1');
  });
});

test('an input without traces is reported as text and ends with 1', { skip }, async () => {
  const empty = join(directory, 'empty.jsonl');
  writeFileSync(empty, '');
  await inTerminal(80, 24, empty, async (terminal) => {
    await terminal.until(/ended with 1/);
  });
});

test('a broken file is read as far as it goes and says what was lost', { skip }, async () => {
  const broken = join(directory, 'broken.jsonl');
  writeFileSync(broken, `${oneRequest()}{"resourceSpans":[{"scopeSp`);
  await inTerminal(80, 24, broken, async (terminal) => {
    await terminal.until(/1 Verdict/);
    terminal.press('6');
    await terminal.until(/still being written or cut/);
  });
});
