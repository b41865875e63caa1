import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { Reader, sessionOf } from '../analyzer/tui/support.ts';
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

  /** An interactive shell, for what only job control shows. */
  openShell(columns: number, rows: number, folder: string = directory): void {
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
      await terminal.until(/pg-pool:signup/);
      terminal.press('p');
      await terminal.until(/parts add up to 10,000,000 ns of 10,000,000 ns/);
      assert.match(terminal.state(), /^1 /);
      terminal.press('q');
      await terminal.until(/ended with 0/);
      await terminal.until(/^ *icanon/m);
      assert.equal(terminal.state(), '0 1');
    });
  });
}

test('the real screen is the drawn one, character for character', { skip }, async () => {
  const session = sessionOf(await readInputs([one]), basename(one));
  await inTerminal(80, 24, one, async (terminal) => {
    await terminal.until(/Enter first queue/);
    const reader = new Reader(session, 80, 24);
    for (const [keys, names, mark] of [
      [[], [], /Enter first queue/],
      [['3'], ['3'], /longest wait/],
      [['5', 'Enter'], ['5', 'enter'], /pg-pool:signup/],
    ] as const) {
      if (keys.length > 0) terminal.press(...keys);
      await reader.type(...names);
      const drawn = reader.lines().map((line) => line.replaceAll('\u2800', ' ').trimEnd());
      await terminal.until(mark);
      const shown = (): string[] =>
        terminal
          .screen()
          .split('\n')
          .slice(0, 23)
          .map((line) => line.replaceAll('\u2800', ' ').trimEnd());
      for (let tries = 0; tries < 100 && shown().join() !== drawn.join(); tries++) await sleep(50);
      assert.deepEqual(shown(), drawn);
    }
  });
});

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

test('Ctrl-C leaves the terminal as it was', { skip }, async () => {
  await inTerminal(80, 24, one, async (terminal) => {
    await terminal.until(/Enter first queue/);
    terminal.press('C-c');
    await terminal.until(/ended with/);
    assert.equal(terminal.state(), '0 1');
  });
});

test('Ctrl-Z gives the shell back, fg the screen; SIGTSTP and SIGTERM leave the terminal whole', {
  skip,
}, async () => {
  const terminal = new Terminal();
  terminal.openShell(80, 24);
  try {
    await terminal.until(/shell>/);
    terminal.press(`${process.execPath} ${COMMAND} ${one}`, 'Enter');
    await terminal.until(/1 Verdict/);
    terminal.press('3');
    await terminal.until(/queues? {2}/);
    terminal.press('C-z');
    await terminal.until(/Stopped/);
    assert.equal(terminal.state(), '0 1');
    terminal.press('stty -a | grep -o ".icanon"', 'Enter');
    await terminal.until(/^ icanon/m);
    terminal.press('fg', 'Enter');
    await terminal.until(/queues? {2}/);
    await terminal.pressUntil('2', /step {2}/);
    process.kill(terminal.child(), 'SIGTSTP');
    await terminal.until(/Stopped/);
    terminal.press('fg', 'Enter');
    await terminal.until(/step {2}/);
    process.kill(terminal.child(), 'SIGTERM');
    await terminal.until(/Terminated/);
    assert.equal(terminal.state(), '0 1');
  } finally {
    terminal.close();
  }
});

test('o writes the opened trace, with every attribute, into the current directory', { skip }, async () => {
  const folder = mkdtempSync(join(directory, 'save-'));
  const terminal = new Terminal();
  terminal.openShell(80, 24, folder);
  try {
    await terminal.until(/shell>/);
    terminal.press(`${process.execPath} ${COMMAND} ${one}`, 'Enter');
    await terminal.until(/1 Verdict/);
    terminal.press('5', 'Enter');
    await terminal.until(/pg-pool:signup/);
    terminal.press('o');
    await terminal.until(/written to waitfall-trace-4bf92f35\.json/);
    const saved = JSON.parse(readFileSync(join(folder, 'waitfall-trace-4bf92f35.json'), 'utf8'));
    assert.equal(saved.durationNs, 10_000_000);
    assert.equal(
      saved.rows.reduce((sum: number, row: { ownedNs: number }) => sum + row.ownedNs, 0),
      10_000_000,
    );
  } finally {
    terminal.close();
  }
});

test('compare opens on both runs, the comparison first', { skip }, async () => {
  await inTerminal(100, 30, `compare ${one} ${one}`, async (terminal) => {
    await terminal.until(/7 Compare/);
    await terminal.until(/fills first +none/);
    terminal.press('1');
    await terminal.until(/Not enough data/);
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
