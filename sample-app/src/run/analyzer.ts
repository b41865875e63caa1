import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { say, shown } from './command.ts';
import { type ReportFile, readReport } from './report-file.ts';
import { workingDirectory } from './working-directory.ts';

const COMMAND = fileURLToPath(new URL('../../../analyzer/bin/waitfall.js', import.meta.url));

export interface AnalyzerRun {
  readonly exitCode: number;
  readonly output: string;
}

/** Runs the `waitfall` command with these arguments where the user stands. @returns its exit code and what it printed. */
export async function waitfall(args: readonly string[]): Promise<AnalyzerRun> {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: workingDirectory,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
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

/** Lets the analyzer judge a run and leaves its reports in the run's directory; null where it gave none. */
export async function analyze(
  directory: string,
): Promise<{ readonly report: ReportFile | null; readonly text: string | null }> {
  const json = await waitfall(['report', shown(directory), '--format', 'json']);
  if (json.exitCode === 0) await writeFile(join(directory, 'report.json'), json.output);
  const text = await waitfall(['report', shown(directory)]);
  if (text.exitCode !== 0) {
    say(
      `  the analyzer gave no report (exit code ${text.exitCode}): npx waitfall report ${shown(directory)}`,
    );
    return { report: null, text: null };
  }
  await writeFile(join(directory, 'report.txt'), text.output);
  return { report: await readReport(directory), text: text.output };
}

/** @returns the one line of a text report that says which queue saturated first, or why none is named. */
export function verdictLine(text: string): string {
  const line = text
    .split('\n')
    .find((one) => /^(First saturating queue|No queue saturated|A queue saturated|Not enough)/.test(one));
  return `  ${line ?? 'no verdict line: see the report'}`;
}
