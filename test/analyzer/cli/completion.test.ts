import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { completionModel } from '../../../analyzer/src/cli/completion/model.ts';
import { buildProgram } from '../../../analyzer/src/cli/program.ts';
import { waitfall } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitfall-completion-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const has = (shell: string) =>
  process.platform !== 'win32' && spawnSync(shell, ['-c', 'exit 0']).status === 0;
const script = async (shell: string) => {
  const { code, stdout, stderr } = await waitfall(['completion', shell]);
  assert.equal(code, 0, stderr);
  const path = join(folder, `waitfall.${shell}`);
  writeFileSync(path, stdout);
  return { path, text: stdout };
};

test('bash completes commands, options and the values of options', { skip: !has('bash') }, async () => {
  const { path } = await script('bash');
  /** What pressing Tab behind these words proposes. */
  const complete = (...words: string[]): string[] => {
    const { stdout, status, stderr } = spawnSync(
      'bash',
      [
        '-c',
        `source "$0"; COMP_WORDS=(waitfall "$@"); COMP_CWORD=$#; _waitfall; printf '%s\\n' "\${COMPREPLY[@]}"`,
        path,
        ...words,
      ],
      { encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    return stdout.trim().split('\n').filter(Boolean);
  };
  assert.deepEqual(complete('co'), ['compare', 'completion']);
  assert.deepEqual(complete('report', '--form'), ['--format']);
  assert.deepEqual(complete('report', '--format', ''), ['text', 'json', 'markdown', 'requests']);
  assert.deepEqual(complete('doctor', '--format', 'j'), ['json']);
  assert.deepEqual(complete('completion', 'z'), ['zsh']);
  assert.deepEqual(complete('report', '--load', 'x'), [], 'bash completes files');
  assert.deepEqual(complete('report', 'traces'), []);
  assert.deepEqual(complete('--asc'), ['--ascii']);
});

test('zsh and fish take their scripts', async (t) => {
  for (const shell of ['zsh', 'fish']) {
    const { path } = await script(shell);
    if (!has(shell)) {
      t.diagnostic(`${shell} is not installed: only its text was looked at`);
      continue;
    }
    const { status, stderr } = spawnSync(shell, ['-n', path], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  }
});

test('fish proposes commands, options and values', { skip: !has('fish') }, async () => {
  const { path } = await script('fish');
  const complete = (line: string) => {
    const { stdout } = spawnSync('fish', ['-c', `source ${path}; complete -C '${line}'`], {
      cwd: folder,
      encoding: 'utf8',
    });
    return stdout
      .trim()
      .split('\n')
      .map((each) => each.split('\t')[0]);
  };
  assert.deepEqual(complete('waitfall doc'), ['doctor']);
  assert.deepEqual(complete('waitfall report --form'), ['--format']);
  assert.deepEqual(complete('waitfall report --format j'), ['json']);
});

test('every command and option is in every script', async () => {
  const model = completionModel(buildProgram({ exitCode: 0 }));
  const longs = [model, ...model.commands].flatMap(({ options }) => options.map(({ long }) => long.slice(2)));
  assert.ok(longs.length > 40);
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { text } = await script(shell);
    for (const word of [...longs, ...model.commands.map(({ name }) => name)]) {
      assert.ok(text.includes(word), `${shell}: ${word}`);
    }
  }
});
