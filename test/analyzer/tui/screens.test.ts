import assert from 'node:assert/strict';
import { test } from 'node:test';
import stringWidth from 'string-width';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { compareRuns } from '../../../analyzer/src/infer/compare/index.ts';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { layOutComparison } from '../../../analyzer/src/report/compare.ts';
import { buildSession } from '../../../analyzer/src/tui/build-session.ts';
import { draw, MIN_COLUMNS, MIN_ROWS } from '../../../analyzer/src/tui/frame.ts';
import { plain } from '../../../analyzer/src/tui/line.ts';
import { paint } from '../../../analyzer/src/tui/theme.ts';
import { COLOR, hotRowInput, MONO_ASCII, Reader } from './support.ts';

const analysis = analyze(hotRowInput(), {});
const session = buildSession(analysis, buildReport(analysis), 'case', {});
/** Keys that lead to every kind of view. */
const PATHS: readonly (readonly string[])[] = [
  [],
  ['2'],
  ['2', 'x'],
  ['3'],
  ['3', 'enter'],
  ['4'],
  ['4', 'm'],
  ['5'],
  ['5', 'enter'],
  ['5', 'enter', 'tab'],
  ['5', 'enter', 'p'],
  ['b'],
  ['b', 'b'],
  ['6'],
  ['?'],
  ['c'],
  ['b', 'h'],
  ['4', 'a', ...'http.route', 'enter'],
  ['5', '/', ...'nothing:matches', 'enter'],
  ['5', '/'],
  ['w'],
];

test('every screen is rows - 1 lines of exactly the terminal width, in every size', async () => {
  for (const path of PATHS) {
    const reader = await new Reader(session).type(...path);
    for (let columns = MIN_COLUMNS; columns <= 250; columns += 19) {
      for (let rows = MIN_ROWS; rows <= 70; rows += 13) {
        const { lines } = draw(reader.state, reader.data, columns, rows, COLOR);
        assert.equal(lines.length, rows - 1, `${path} ${columns}x${rows}`);
        for (const line of lines) {
          const text = line.map(([part]) => part).join('');
          assert.equal(stringWidth(text), columns, `${path} ${columns}x${rows}: ${text}`);
          assert.doesNotMatch(
            text,
            /[\u0000-\u001f\u007f-\u009f]|NaN|undefined|\[object|Infinity/,
            `${path} ${columns}x${rows}`,
          );
        }
      }
    }
  }
});

test('a comparison fits every size too, and is the first thing it shows', async () => {
  const { report } = session;
  const record = layOutComparison(compareRuns(analysis, analysis), { before: 'a', after: 'b' });
  const compared = {
    ...session,
    comparison: { before: 'a', after: 'b', report, conclusion: 'no change', record },
  };
  for (let columns = MIN_COLUMNS; columns <= 250; columns += 31) {
    const reader = new Reader(compared, columns, 30);
    assert.match(reader.text(), /fills first +lock:campaign/);
    for (const line of reader.lines()) assert.equal(stringWidth(line), columns);
    assert.match((await reader.type('G')).text(), /Checklist of the experiment|met:/);
  }
});

test('no sentence is cut where a shorter one would fit', async () => {
  for (const path of [[], ['2'], ['2', 'x'], ['3', 'enter'], ['c'], ['6'], ['?'], ['b', 'p']]) {
    const reader = await new Reader(session).type(...path);
    for (let columns = 66; columns <= 250; columns += 23) {
      for (const line of draw(reader.state, reader.data, columns, 40, COLOR).lines)
        assert.doesNotMatch(plain(line), /…\s*$/, `${path} at ${columns}`);
    }
  }
});

test('--ascii writes nothing but ASCII, cell for cell', async () => {
  for (const path of PATHS) {
    const reader = await new Reader(session, 100, 30, MONO_ASCII).type(...path);
    for (const line of draw(reader.state, reader.data, 100, 30, MONO_ASCII).lines) {
      const shown = paint(line, { ...MONO_ASCII, depth: null });
      assert.match(shown, /^[ -~]*$/, `${path}: ${shown}`);
      assert.equal(shown.length, 100);
    }
  }
});

test('too small a terminal is told so in one line', () => {
  const reader = new Reader(session, 40, 10);
  assert.match(reader.lines()[0], /waitfall needs 60x18, this is 40x10/);
  assert.equal(reader.lines().length, 9);
});

test('the start screen answers: which queue, what it fills, how sure, what would help', async () => {
  const text = (await new Reader(session, 80, 24).type()).text();
  assert.match(text, /lock:campaign fills first, at about \d+ requests\/s/);
  assert.match(text, /1 lock:campaign/);
  assert.match(text, /2 pg-pool:signup/);
  assert.match(text, /Confidence (high|medium|low)/);
  assert.match(text, /What if .*lock:campaign/);
  assert.match(text, /knee \d+/);
});

test('two keys lead from the start screen to the blocker of the slowest blocked request', async () => {
  const reader = new Reader(session, 100, 40);
  assert.match((await reader.type('b')).text(), /held up by [0-9a-f]{8} .*b: go there/);
  const waiter = reader.state.stack.at(-1)?.trace;
  await reader.type('b');
  assert.notEqual(reader.state.stack.at(-1)?.trace, waiter);
  assert.match(reader.text(), /blocker 1 of the chain/);
  await reader.type('B');
  assert.equal(reader.state.stack.at(-1)?.trace, waiter);
});

test('the partition strip of a trace adds up to its duration', async () => {
  const reader = await new Reader(session, 120, 60).type('5', 'enter', 'p');
  const sum = /parts add up to ([\d,]+) ns of ([\d,]+) ns/.exec(reader.text());
  assert.ok(sum);
  assert.equal(sum[1], sum[2]);
});

test('the footer names the keys that lead to the blocker', async () => {
  const reader = new Reader(session, 80, 24);
  assert.match(reader.lines().at(-1)!, /b slowest blocked trace/);
  await reader.type('b');
  assert.match(reader.lines().at(-1)!, /b blocker/);
});
