import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../../analyzer/bin/waitfall.js', import.meta.url));

export interface AnalyzerRun {
  readonly exitCode: number;
  readonly output: string;
}

/** Runs the `waitfall` command with these arguments. @returns its exit code and what it printed. */
export async function waitfall(args: readonly string[]): Promise<AnalyzerRun> {
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const exitCode = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? -1));
  });
  return { exitCode, output };
}
