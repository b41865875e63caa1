import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ROOT } from './markdown.ts';

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder that looks like a checkout to the commands of a page, in which they may leave files. */
export class Sandbox {
  readonly folder = mkdtempSync(join(tmpdir(), 'waitfall-docs-'));
  readonly #env: NodeJS.ProcessEnv;

  constructor() {
    for (const name of ['docs', 'node_modules', 'package.json'])
      symlinkSync(join(ROOT, name), join(this.folder, name));
    const bin = join(this.folder, '.bin');
    mkdirSync(bin);
    const main = join(ROOT, 'analyzer/src/cli/main.ts');
    const waitfall = `exec "${process.execPath}" --conditions=waitfall-source "${main}"`;
    this.#script(join(bin, 'waitfall'), `${waitfall} "$@"`);
    this.#script(join(bin, 'node'), `exec "${process.execPath}" --conditions=waitfall-source "$@"`);
    this.#script(join(bin, 'npx'), `test "$1" = waitfall && shift && ${waitfall} "$@"`);
    const { NO_COLOR: _no, FORCE_COLOR: _force, ...env } = process.env;
    this.#env = { ...env, PATH: `${bin}${delimiter}${process.env['PATH']}` };
  }

  /** Runs lines of a shell, or a module; resolves when it has ended. */
  run(language: string, text: string): Promise<Ran> {
    const [command, args] =
      language === 'sh'
        ? ['sh', ['-e']]
        : [process.execPath, ['--conditions=waitfall-source', '--input-type=module', '-']];
    return new Promise((resolve, reject) => {
      const child = spawn(command, args as string[], { cwd: this.folder, env: this.#env, timeout: 60_000 });
      let stdout = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        stdout += part;
      });
      child.stderr.setEncoding('utf8').on('data', (part: string) => {
        stderr += part;
      });
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, stdout, stderr }));
      child.stdin.on('error', () => {});
      child.stdin.end(text);
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #script(path: string, line: string): void {
    writeFileSync(path, `#!/bin/sh\n${line}\n`);
    chmodSync(path, 0o755);
  }
}
