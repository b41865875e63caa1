import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { buildProgram } from '../../analyzer/src/cli/program.ts';
import { SEGMENTS } from '../../instrumentation/src/conventions.ts';
import { anchorsOf, blocksOf, linksOf, PAGES, ROOT, readPage } from './markdown.ts';

test('every link leads to a file, and to a heading in it', () => {
  const broken: string[] = [];
  for (const page of PAGES) {
    for (const { target, line } of linksOf(page)) {
      if (/^(https?|mailto):/.test(target)) continue;
      const [path, anchor] = target.split('#');
      const file = path === '' ? page : posix.normalize(posix.join(posix.dirname(page), path));
      if (!existsSync(join(ROOT, file))) broken.push(`${page}:${line} -> ${target}`);
      else if (anchor && file.endsWith('.md') && !anchorsOf(readPage(file)).has(anchor)) {
        broken.push(`${page}:${line} -> ${target}: no such heading`);
      }
    }
  }
  assert.deepEqual(broken, []);
});

test('the Chinese README says the same: as many headings, the same links, the same commands', () => {
  const [english, chinese] = ['README.md', 'README.zh-CN.md'].map((page) => ({
    headings: [...readPage(page).matchAll(/^(#+) /gm)].map(([, level]) => level),
    links: linksOf(page)
      // Headings are in the language of the page; that they exist is another test.
      .map(({ target }) => target.replace(/^#.*/, '#'))
      .filter((target) => !target.startsWith('README'))
      .sort(),
    commands: blocksOf(page).map(({ text }) => text.replaceAll(/ +#.*$/gm, '')),
  }));
  assert.deepEqual(chinese, english);
});

test('every page under docs is linked from its index, and every picture is used', () => {
  const index = readPage('docs/README.md');
  const pages = PAGES.filter((page) => /^docs\/[^/]+\.md$/.test(page) && page !== 'docs/README.md');
  assert.ok(pages.length > 8);
  for (const page of pages) assert.ok(index.includes(`(${page.slice('docs/'.length)})`), page);
  const all = PAGES.map(readPage).join('\n');
  for (const picture of globSync('docs/**/*.svg', { cwd: ROOT })) {
    assert.ok(all.includes(picture.replaceAll('\\', '/').replace(/^docs\//, '')), picture);
  }
});

test('commands and options in the pages exist', () => {
  const program = buildProgram({ exitCode: 0 });
  const options = (name: string) => {
    const command = program.commands.find((each) => each.name() === name) ?? program;
    return [...command.options, ...program.options]
      .flatMap(({ long, short }) => [long, short])
      .concat('--help');
  };
  const wrong: string[] = [];
  for (const page of PAGES) {
    for (const block of blocksOf(page)) {
      if (block.language !== 'sh') continue;
      for (const line of block.text.split('\n')) {
        const call = /(?:^|[|;&(]\s*|npx )waitfall((?:\s+(?:"[^"]*"|'[^']*'|[^\s|;&#]+))*)/.exec(line);
        if (call === null) continue;
        const words = call[1]
          .trim()
          .split(/ -- /)[0]
          .replaceAll(/"[^"]*"|'[^']*'/g, 'x')
          .split(/\s+/);
        const known = options(words[0] ?? '');
        for (const word of words) {
          if (/^--?[a-z]/.test(word) && !known.includes(word.split('=')[0])) {
            wrong.push(`${page}:${block.line} ${word} in '${line}'`);
          }
        }
      }
    }
  }
  assert.deepEqual(wrong, []);
});

test('scripts, variables and segments in the pages exist', () => {
  const scripts = Object.keys(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts);
  const source = globSync('{instrumentation,sample-app}/src/**/*.ts', { cwd: ROOT })
    .concat(globSync('collector-config/**/*.{yaml,mjs,md}', { cwd: ROOT }))
    .concat(globSync('test/**/*.ts', { cwd: ROOT }))
    .filter((file) => !file.includes('_build') && statSync(join(ROOT, file)).isFile())
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n');
  const wrong: string[] = [];
  for (const page of PAGES) {
    const text = readPage(page);
    for (const [, script] of text.matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g)) {
      if (!scripts.includes(script)) wrong.push(`${page}: npm run ${script}`);
    }
    for (const [name] of text.matchAll(/\bWAITFALL_[A-Z_]+[A-Z]\b/g)) {
      if (!source.includes(name)) wrong.push(`${page}: ${name}`);
    }
    // Other tools have waits of other names, which the collector's page speaks of.
    if (page.startsWith('collector-config/')) continue;
    for (const [, segment] of text.matchAll(/`([a-z]+_wait)`/g)) {
      if (!(SEGMENTS as readonly string[]).includes(segment)) wrong.push(`${page}: ${segment}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('the architecture page names the folders there are', () => {
  const page = readPage('docs/architecture.md');
  const rows = (from: string) => {
    const section = page.slice(page.indexOf(`## ${from}`));
    return [...section.slice(0, section.indexOf('\n## ', 5)).matchAll(/^\| (.+?) \|/gm)]
      .flatMap(([, cell]) => [...cell.matchAll(/`([^`]+)`/g)])
      .map(([, name]) => name.replace(/\/$/, ''));
  };
  const folders = readdirSync(join(ROOT, 'analyzer/src'), { withFileTypes: true });
  assert.deepEqual(
    rows('The analyzer').sort(),
    folders.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort(),
  );
  for (const name of rows('The instrumentation')) {
    assert.ok(existsSync(join(ROOT, 'instrumentation/src', name)), name);
  }
});

test('every rule of the verdict is stated in the file its row links to', () => {
  const rows = readPage('docs/verdict.md').matchAll(/^\| (\d) \|.*\]\(\.\.\/([^)]+)\) \|$/gm);
  const found = [...rows].map(([, rule, file]) => {
    const statement = new RegExp(`[Rr]ules?( \\d+ and)? ${rule}\\b`);
    assert.ok(statement.test(readFileSync(join(ROOT, file), 'utf8')), `${file} does not state rule ${rule}`);
    return Number(rule);
  });
  assert.deepEqual(found, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('a command that is shown under docs is run, or says that it needs more than a checkout', () => {
  for (const page of PAGES.filter((each) => each.startsWith('docs/'))) {
    for (const block of blocksOf(page)) {
      if (block.language !== 'sh' && block.language !== 'js') continue;
      const marked = block.words.some((word) => word === 'run' || word === 'shown');
      assert.ok(marked, `${page}:${block.line} is neither marked run nor shown`);
    }
  }
});
