/** Holds the reference against the code: what is exported, read from the environment or taken as an option is on a page. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as instrumentation from '@waitfall/instrumentation';
import * as analyzer from 'waitfall';
import { buildProgram } from '../../analyzer/src/cli/program.ts';
import { settingsOf } from '../../instrumentation/src/settings.ts';
import { ROOT, readPage } from './markdown.ts';

const INSTRUMENTATION = readPage('instrumentation/README.md');
const ANALYZER = readPage('analyzer/README.md');
const CUSTOM = readPage('docs/custom-spans.md');

/** @returns the text of all code on a page, in blocks and in lines. */
function codeOf(page: string): string {
  return [...page.matchAll(/```[^\n]*\n([\s\S]*?)```|`([^`\n]+)`/g)]
    .map(([, block, line]) => block ?? line)
    .join('\n');
}

const named = (code: string, name: string) => new RegExp(`(?<![\\w$])${name}(?![\\w$])`).test(code);

test('every function and class that is exported is shown or named', () => {
  const functions = (exports: object) =>
    Object.entries(exports).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));
  const [ours, theirs] = [functions(instrumentation), functions(analyzer)];
  assert.ok(ours.length > 12 && theirs.length > 8);
  const [library, command] = [codeOf(INSTRUMENTATION), codeOf(ANALYZER)];
  assert.deepEqual(
    ours.filter((name) => !named(library, name)),
    [],
  );
  assert.deepEqual(
    theirs.filter((name) => !named(command, name)),
    [],
  );
});

test('what wraps a queue of your own stands on the page about them', () => {
  const wrappers = Object.keys(instrumentation).filter((name) =>
    /^(wrap|with)[A-Z]|^(name|admis|seg)/.test(name),
  );
  assert.ok(wrappers.length >= 8);
  assert.deepEqual(
    wrappers.filter((name) => !named(codeOf(CUSTOM), name)),
    [],
  );
});

test('every attribute of the conventions is in the table of attributes', () => {
  const table = INSTRUMENTATION.slice(
    INSTRUMENTATION.indexOf('## Attributes'),
    INSTRUMENTATION.indexOf('## Options'),
  );
  const attributes = Object.entries(instrumentation).flatMap(([name, value]) =>
    name.startsWith('ATTR_') && typeof value === 'string' ? [value] : [],
  );
  assert.ok(attributes.length > 20);
  // A row may name several that differ in their last part: `waitfall.estimate.min_ns`, `.max_ns`.
  const missing = attributes.filter(
    (name) => !table.includes(`\`${name}\``) && !table.includes(`\`${name.slice(name.lastIndexOf('.'))}\``),
  );
  assert.deepEqual(missing, []);
});

interface Row {
  readonly option: string;
  readonly variable: string;
  readonly otherwise: string;
}

/** The rows of the table of options that name a variable. */
function optionRows(): Row[] {
  const table = INSTRUMENTATION.slice(
    INSTRUMENTATION.indexOf('## Options'),
    INSTRUMENTATION.indexOf('## Compatibility'),
  );
  return [...table.matchAll(/^\|(.*?)\| `(WAITFALL_\w+)` \|(.*?)\|/gm)].map(
    ([, option, variable, otherwise]) => ({
      option,
      variable,
      otherwise: otherwise.replaceAll('`', '').trim(),
    }),
  );
}

/** @returns the variables of our own that files of a folder name. */
function variablesIn(folder: string): string[] {
  const named = globSync(`${folder}/**/*.{ts,tsx}`, { cwd: ROOT })
    .flatMap((file) => [
      ...readFileSync(join(ROOT, file), 'utf8').matchAll(/'(WAITFALL_[A-Z_0-9]*[A-Z0-9])'/g),
    ])
    .map(([, name]) => name);
  return [...new Set(named)].sort();
}

test('the variables that the source reads are those of the tables', () => {
  const rows = optionRows().map(({ variable }) => variable);
  assert.deepEqual(variablesIn('instrumentation/src'), rows.sort());
  // The command also tells of variables of the instrumentation.
  for (const name of variablesIn('analyzer/src')) {
    assert.ok(rows.includes(name) || named(codeOf(ANALYZER), name), name);
  }
});

test('a variable set to the default of its row changes nothing, set to another value something', () => {
  // Parts that are off ignore their own settings.
  const on = { WAITFALL_PG_LOCKS: 'true', WAITFALL_RECORDER: '60s' };
  let tried = 0;
  for (const { variable, otherwise } of optionRows()) {
    if (!/^(true|false|\d+(\.\d+)?)$/.test(otherwise)) continue;
    const base = variable in on ? {} : on;
    const usual = settingsOf({}, base);
    const other =
      otherwise === 'true' ? 'false' : otherwise === 'false' ? 'true' : `${Number(otherwise) + 1}`;
    assert.deepEqual(settingsOf({}, { ...base, [variable]: otherwise }), usual, variable);
    assert.notDeepEqual(settingsOf({}, { ...base, [variable]: other }), usual, variable);
    tried++;
  }
  assert.ok(tried > 12);
});

test('every option of a command is in the table of options or on the page about commands', () => {
  const program = buildProgram({ exitCode: 0 });
  const shared = new Set(program.options.map(({ long }) => long));
  const table = codeOf(ANALYZER);
  const pages = `${table}\n${codeOf(readPage('docs/command-line.md'))}`;
  const missing: string[] = [];
  for (const command of [program, ...program.commands]) {
    for (const { long } of command.options) {
      if (long && !(shared.has(long) ? table : pages).includes(long))
        missing.push(`${command.name()} ${long}`);
    }
  }
  assert.deepEqual([...new Set(missing)], []);
  for (const command of program.commands) assert.ok(named(pages, command.name()), command.name());
});

test('every variable of the terminal that the command looks at is on the page about terminals', () => {
  const page = codeOf(readPage('docs/terminal.md'));
  const read = globSync('analyzer/src/**/*.{ts,tsx}', { cwd: ROOT })
    .flatMap((file) => [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\benv\['([A-Z_]+)'\]/g)])
    .map(([, name]) => name)
    // A locale, whichever of its three variables says it.
    .filter((name) => !['LANG', 'LC_ALL', 'LC_CTYPE', 'PATH'].includes(name));
  assert.ok(read.length > 4);
  assert.deepEqual(
    [...new Set(read)].filter((name) => !page.includes(name)),
    [],
  );
});
