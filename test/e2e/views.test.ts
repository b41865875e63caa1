import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import stringWidth from 'string-width';
import { writeHotRowRun } from '../analyzer/tui/support.ts';
import { oneRequest } from './one-request.ts';
import { inTerminal, skip, type Terminal } from './tmux.ts';

const directory = mkdtempSync(join(tmpdir(), 'waitfall-views-'));
const run = join(directory, 'run');
const oneSpan = join(directory, 'one-span.jsonl');
const broken = join(directory, 'broken.jsonl');
const empty = join(directory, 'empty.jsonl');
before(async () => {
  await writeHotRowRun(run);
  writeFileSync(oneSpan, oneSpanOnly());
  writeFileSync(broken, `${oneRequest()}{"resourceSpans":[{"scopeSp`);
  writeFileSync(empty, '');
});
after(() => rmSync(directory, { recursive: true, force: true }));

const SIZES = [
  [80, 24],
  [160, 50],
] as const;

function oneSpanOnly(): string {
  const start = 1_760_000_000_000_000_000n;
  const span = {
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: '00f067aa0ba902b7',
    name: 'GET /',
    kind: 2,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + 5_000_000n),
  };
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'alone' } }] };
  return `${JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] })}\n`;
}

/** Presses keys one after the other, each of them named by the footer it is pressed on, and waits for what it shows. */
async function follow(
  terminal: Terminal,
  steps: readonly (readonly [key: string, label: RegExp, shows: RegExp])[],
): Promise<void> {
  for (const [key, label, shows] of steps) {
    // The last line of a screen may be drawn a moment after the others.
    await terminal.until(new RegExp(`(?:${label.source})[^\\n]*\\s*$`));
    terminal.press(key);
    await terminal.until(shows);
  }
}

/** What every screen keeps: as many lines as it has, none wider than it, units and words instead of failures. */
function sound(terminal: Terminal, columns: number, rows: number): void {
  const lines = terminal.screen().replace(/\n$/, '').split('\n');
  assert.ok(lines.length <= rows, `${lines.length} lines`);
  for (const line of lines) assert.ok(stringWidth(line) <= columns, line);
  assert.doesNotMatch(lines.join('\n'), /NaN|undefined|\bnull\b|Infinity/);
}

for (const [columns, rows] of SIZES) {
  test(`every view of a case-study run at ${columns}x${rows}`, { skip }, async () => {
    await inTerminal(columns, rows, run, async (terminal) => {
      const show = async (mark: RegExp, ...keys: string[]): Promise<void> => {
        terminal.press(...keys);
        await terminal.until(mark);
        sound(terminal, columns, rows);
      };
      await terminal.until(/lock:campaign fills first/);
      sound(terminal, columns, rows);
      await show(/Confidence: /, 'c');
      await show(/What if[\s\S]*knee at about/, 'G');
      await show(/fills first, /, 'Escape');
      await show(/what if lock:campaign/, 'w');
      await show(/fills first, /, 'Escape');
      await show(/arrived +completed/, '2');
      await show(/slowest 1 %/, 'j');
      await show(/as a share|same scale/, 'x');
      await show(/own limit/, '3');
      await show(/sorted by utilization/, 's');
      await show(/Queues › .*fills at/, '3', 'g', 'Enter');
      await show(/find: /, '/');
      await show(/find: POST/, 'POST');
      await show(/longest waits/, 'Enter');
      await show(/longest waits/, 'n');
      await show(/2 routes/, 'Escape', '4');
      await show(/mean per request/, 'm');
      await show(/split by attribute: /, 'a');
      await show(/values of http.request.method/, 'http.request.method', 'Enter');
      await show(/2 routes/, 'Escape');
      await show(/of [\d,]+ traces/, '5');
      await show(/filter lock_wait>1ms/, '/', 'lock_wait>1ms', 'Enter');
      await show(/sorted by start/, 's');
      await show(/own +share/, 'Enter');
      await show(/parts add up to/, 'p');
      await show(/own +share/, 'p');
      await show(/scope /, 'Tab');
      await show(/span records/, '6');
      await show(/Why another tool may show other numbers/, 'G');
      await show(/Keys/, '?');
      await show(/text.*in the route/, 'G');
      await show(/Why another tool may show other numbers/, '?');
      terminal.press('q');
      await terminal.until(/ended with 0/);
    });
  });

  test(`the blocker of the slowest request is at most six keys away at ${columns}x${rows}, each of them in the footer`, {
    skip,
  }, async () => {
    await inTerminal(columns, rows, run, async (terminal) => {
      await terminal.until(/fills first, /);
      await follow(terminal, [
        ['b', /b slowest blocked trace/, /held up by [0-9a-f]{8}.*b: go there/],
        ['b', /b blocker/, /blocker 1 of the chain/],
      ]);
    });
    await inTerminal(columns, rows, run, async (terminal) => {
      await terminal.until(/fills first, /);
      await follow(terminal, [
        ['Enter', /Enter first queue/, /waited +held up by/],
        ['Enter', /Enter trace/, /held up by [0-9a-f]{8}.*b: go there/],
        ['b', /b blocker/, /blocker 1 of the chain/],
        ['Escape', /Esc back|B back/, /trace \d+ of \d+/],
      ]);
    });
  });

  test(`one span alone: every view opens at ${columns}x${rows} and says what is missing`, {
    skip,
  }, async () => {
    await inTerminal(columns, rows, oneSpan, async (terminal) => {
      for (const [key, mark] of [
        ['1', /Not enough data/],
        ['2', /1 success/],
        ['3', /No queue is visible in this export:[\s\S]*@waitfall\/instrumentation/],
        ['4', /1 routes?/],
        ['5', /1 of 1 traces/],
        ['6', /no event-loop slices/],
        ['1', /Not enough data/],
        ['b', /no wait is recorded in this export; 6 says what to switch on/],
      ] as const) {
        terminal.press(key);
        await terminal.until(mark);
        sound(terminal, columns, rows);
      }
      terminal.press('5', 'Enter');
      await terminal.until(/GET \//);
      terminal.press('b');
      await terminal.until(/nobody is recorded as holding this trace up/);
      sound(terminal, columns, rows);
    });
  });

  test(`a file that breaks off: every view opens at ${columns}x${rows}, and 6 says where`, {
    skip,
  }, async () => {
    await inTerminal(columns, rows, broken, async (terminal) => {
      await terminal.until(/1 rejected, see 6/);
      for (const [key, mark] of [
        ['2', /arrived/],
        ['3', /own limit/],
        ['4', /1 routes?/],
        ['5', /1 of 1 traces/],
        ['6', /broken.jsonl:\d+:[\s\S]*still being written or cut/],
      ] as const) {
        terminal.press(key);
        await terminal.until(mark);
        sound(terminal, columns, rows);
      }
    });
  });

  test(`nothing at all ends with the reason as text at ${columns}x${rows}`, { skip }, async () => {
    await inTerminal(columns, rows, empty, async (terminal) => {
      await terminal.until(/ended with 1/);
      assert.equal(terminal.state(), '0 1');
    });
  });
}

test('several keys in one read, arrows too, are all obeyed', { skip }, async () => {
  await inTerminal(80, 24, run, async (terminal) => {
    await terminal.until(/fills first, /);
    terminal.press('5');
    await terminal.until(/of [\d,]+ traces/);
    terminal.press('j', 'j', 'Down', 'Down', 'j', 'k', 'Up');
    for (let tries = 0; tries < 100 && !/^▸/.test(terminal.screen().split('\n')[6] ?? ''); tries++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    assert.match(terminal.screen().split('\n')[6]!, /^▸/, 'five down, two up: the fourth trace');
  });
});

for (const [settings, colour, others] of [
  ['NO_COLOR=1', null, /\u001b\[[\d;]*\b(?:3[0-7]|4[0-7]|9[0-7]|38|48)\b/],
  ['TERM=screen', /\u001b\[[\d;]*\b(?:3[1-6]|9[1-6])m/, /\b[34]8;[25];/],
  ['', /\b[34]8;5;\d+/, /\b[34]8;2;/],
  ['COLORTERM=truecolor', /\b[34]8;2;\d+;\d+;\d+/, null],
] as const) {
  test(`colours as the terminal shows them: ${settings || '256 colours'}`, { skip }, async () => {
    await inTerminal(
      80,
      24,
      run,
      async (terminal) => {
        await terminal.until(/fills first, /);
        const codes = terminal.coloured();
        if (colour) assert.match(codes, colour);
        if (others) assert.doesNotMatch(codes, others);
      },
      settings,
    );
  });
}

test('--ascii shows nothing else, in a real terminal too', { skip }, async () => {
  await inTerminal(80, 24, `--ascii ${run}`, async (terminal) => {
    await terminal.until(/fills first, /);
    terminal.press('b');
    await terminal.until(/own +share/);
    assert.match(terminal.screen(), /^[\n\u0020-\u007e]*$/);
  });
});
