import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../analyzer/src/cli/main.ts', import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `waitfall` from its sources in a process of its own, as a shell would. */
export function waitfall(
  args: readonly string[],
  options: { stdin?: string; cwd?: string; env?: Readonly<Record<string, string>> } = {},
): Promise<Ran> {
  // Set or empty, either makes some versions of Node warn about the other.
  const { NO_COLOR: _no, FORCE_COLOR: _force, ...env } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--conditions=waitfall-source', MAIN, ...args], {
      cwd: options.cwd,
      env: { ...env, ...options.env },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
    child.stdin.on('error', () => {});
    child.stdin.end(options.stdin ?? '');
  });
}
