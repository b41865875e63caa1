import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { Reader, sessionOf } from '../analyzer/tui/support.ts';
import { oneRequest } from './one-request.ts';
import { COMMAND, inTerminal, skip, Terminal } from './tmux.ts';

const directory = mkdtempSync(join(tmpdir(), 'waitfall-terminal-'));

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
  terminal.openShell(80, 24, directory);
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
