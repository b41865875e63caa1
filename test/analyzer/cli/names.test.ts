import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { COMMANDS } from '../../../analyzer/src/cli/load.ts';
import { buildProgram } from '../../../analyzer/src/cli/program.ts';
import { suggestName } from '../../../analyzer/src/cli/suggest.ts';
import { otlp, signup } from '../report/otlp.ts';
import { waitfall } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitfall-names-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'traces.jsonl');
writeFileSync(file, otlp([...signup(1, 0), ...signup(2, 500_000_000)]));

test('a mistyped queue, route, command or option is answered with the one that was meant', async () => {
  const cases: [string[], RegExp][] = [
    [
      ['report', file, '--what-if', 'lock:campain hold x0.5'],
      /did you mean 'lock:campaign'\? The input has /,
    ],
    [['report', file, '--what-if', 'Campaign hold x0.5'], /did you mean 'lock:campaign'\?/],
    [['report', file, '--what-if', 'cache capacity 3'], /no queue is called 'cache'; the input has /],
    [['report', file, '--route', '/singup'], /did you mean '\/signup'\?/],
    [['report', file, '--route', 'POST /signups'], /did you mean 'POST \/signup'\?/],
    [['report', file, '--by', 'http.rout'], /did you mean 'http\.route'\? The input has /],
    [['report', file, '--by', 'tenant'], /no span and no process has the attribute 'tenant'; the input has /],
    [['docter', file], /did you mean the command 'doctor'\?/],
    [['chekc'], /did you mean the command 'check'\?/],
    [['doctor', file, '--min-coverge', '80%'], /Did you mean --min-coverage\?/],
    [['completion', 'bsh'], /Allowed choices are bash, zsh, fish/],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await waitfall(args);
    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, message);
  }
});

test('the only name that contains the word is meant, of several none', () => {
  assert.equal(suggestName('signup', ['pg-pool:signup', 'lock:campaign']), 'pg-pool:signup');
  assert.equal(suggestName('signup', ['pg-pool:signup', 'connect:pg-pool:signup']), null);
  assert.equal(suggestName('', ['lock:campaign']), null);
});

test('every command is known to the hints and has help with an example', () => {
  const program = buildProgram({ exitCode: 0 });
  const help = program.createHelp();
  assert.deepEqual(
    help.visibleCommands(program).map((command) => command.name()),
    [...COMMANDS],
  );
  for (const command of program.commands) {
    let text = '';
    command.configureOutput({ writeOut: (part) => (text += part), getOutHasColors: () => false });
    command.outputHelp();
    assert.match(text, new RegExp(`^Examples:\n.*waitfall ${command.name()}`, 'm'), command.name());
    const examples = text.slice(text.indexOf('Examples:'));
    for (const line of examples.split('\n')) assert.ok(line.length <= 90, line);
  }
});
