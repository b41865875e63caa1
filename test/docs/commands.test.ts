/**
 * Runs what the pages show. A block marked `run` is executed in a checkout; one marked `output` must be what the `run`
 * block before it printed, or the part of it whose first line starts with section="…". exit=N after `run` is the exit code.
 *
 * Numbers may drift a little (alike.ts), after `output like` at will: there a clock measured them.
 *
 * UPDATE_DOCS=1 writes what was printed into the pages instead.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { difference } from './alike.ts';
import { type Block, blocksOf, PAGES, settingOf, writeBlocks } from './markdown.ts';
import { type Ran, Sandbox } from './sandbox.ts';

const update = process.env['UPDATE_DOCS'] === '1';
let sandbox: Sandbox | undefined;
after(() => sandbox?.remove());
const ran = new Map<string, Promise<Ran>>();

for (const page of PAGES) {
  const blocks = blocksOf(page).filter(({ words }) => words.includes('run') || words.includes('output'));
  if (blocks.length === 0) continue;
  test(`${page} shows what its commands print`, { skip: process.platform === 'win32' }, async () => {
    const replaced: { block: Block; text: string }[] = [];
    let last: Ran | null = null;
    for (const block of blocks) {
      const where = `${page}:${block.line}`;
      if (block.words.includes('run')) {
        last = await execute(block);
        const expected = Number(settingOf(block, 'exit') ?? 0);
        assert.equal(last.code, expected, `${where}: ${last.stderr}`);
        continue;
      }
      assert.ok(last !== null, `${where}: no block marked run stands before this output`);
      const printed = part(last, settingOf(block, 'section'), where);
      const measured = block.words.includes('like');
      if (update && !measured && printed !== block.text) replaced.push({ block, text: printed });
      if (update && !measured) continue;
      const found = difference(block.text, printed, measured ? Number.POSITIVE_INFINITY : undefined);
      assert.equal(
        found,
        null,
        `${where} is out of date: UPDATE_DOCS=1 npm run test:unit -- docs, and read the diff`,
      );
    }
    if (replaced.length > 0) writeBlocks(page, replaced);
  });
}

/** One page may show several parts of one command's output: it runs once. */
function execute({ language, text }: Block): Promise<Ran> {
  const key = `${language} ${text}`;
  let result = ran.get(key);
  if (result === undefined) ran.set(key, (result = (sandbox ??= new Sandbox()).run(language, text)));
  return result;
}

/** @returns the paragraph that starts with a text, or everything; what a command says on standard error counts too. */
function part({ stdout, stderr }: Ran, section: string | undefined, where: string): string {
  const all = stdout + stderr;
  if (section === undefined) return all;
  const found = `\n${all}`.indexOf(`\n${section}`);
  assert.ok(found >= 0, `${where}: nothing starts with '${section}' in\n${all}`);
  const end = all.indexOf('\n\n', found);
  return end < 0 ? all.slice(found) : all.slice(found, end + 1);
}
