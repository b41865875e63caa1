/**
 * Draws the screens that the pages show: a block marked `screen` is the terminal UI on docs/example/before, or the run="…"
 * of it, 80 by 24, after keys="b b". Numbers may drift a little (alike.ts). UPDATE_DOCS=1 writes the screen into the page.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../analyzer/src/infer/analysis.ts';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { buildReport } from '../../analyzer/src/report/build.ts';
import { buildSession } from '../../analyzer/src/tui/build-session.ts';
import type { Session } from '../../analyzer/src/tui/session.ts';
import { Reader } from '../analyzer/tui/support.ts';
import { difference } from './alike.ts';
import { blocksOf, PAGES, ROOT, settingOf, writeBlocks } from './markdown.ts';

// The screens name files as they were given.
process.chdir(ROOT);
const sessions = new Map<string, Promise<Session>>();

/** Several screens are of one run: it is read once. */
function sessionOf(run: string): Promise<Session> {
  const open = async () => {
    const analysis = analyze(await readInputs([`docs/example/${run}`]));
    return buildSession(analysis, buildReport(analysis), run, {});
  };
  let session = sessions.get(run);
  if (session === undefined) sessions.set(run, (session = open()));
  return session;
}

const SHOWN = PAGES.filter((page) => blocksOf(page).some(({ words }) => words.includes('screen')));

test('some page shows the terminal UI', () => assert.notEqual(SHOWN.length, 0));

for (const page of SHOWN) {
  test(`${page} shows the screens as they are drawn`, async () => {
    const drawn = [];
    for (const block of blocksOf(page).filter(({ words }) => words.includes('screen'))) {
      const keys = (settingOf(block, 'keys') ?? '').split(' ').filter((key) => key !== '');
      const session = await sessionOf(settingOf(block, 'run') ?? 'before');
      const reader = await new Reader(session, 80, 24).type(...keys);
      drawn.push({
        block,
        text: `${reader
          .lines()
          .map((line) => line.trimEnd())
          .join('\n')
          .trimEnd()}\n`,
      });
    }
    if (process.env['UPDATE_DOCS'] === '1') return writeBlocks(page, drawn);
    for (const { block, text } of drawn) {
      const found = difference(block.text, text);
      assert.equal(
        found,
        null,
        `${page}:${block.line} is out of date: UPDATE_DOCS=1 npm run test:unit -- docs`,
      );
    }
  });
}
