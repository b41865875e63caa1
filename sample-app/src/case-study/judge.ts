import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitfall } from '../run/analyzer.ts';
import { say, shown } from '../run/command.ts';
import { type Check, disturbance, disturbed, type JudgedRun } from './checks.ts';
import { type ReportFile, readReport } from './report-file.ts';

/** Lets the analyzer judge a run and leaves its reports in the run's directory; null where it gave none. */
export async function analyze(
  directory: string,
): Promise<{ readonly report: ReportFile | null; readonly text: string | null }> {
  const json = await waitfall(['report', directory, '--format', 'json']);
  if (json.exitCode === 0) await writeFile(join(directory, 'report.json'), json.output);
  const text = await waitfall(['report', directory]);
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

/** The evidence record: what changed from the before run to each other one, by the analyzer. */
export async function printEvidence(judged: readonly JudgedRun[]): Promise<void> {
  const [before, ...others] = judged;
  if (before?.run.variant !== 'before') return;
  for (const { run } of others) {
    const record = await waitfall(['compare', before.run.directory, run.directory]);
    if (record.exitCode !== 0) {
      say(`  the analyzer compared nothing (exit code ${record.exitCode})`);
      continue;
    }
    await writeFile(join(run.directory, 'evidence.txt'), record.output);
    say(`\n${record.output}`);
  }
}

/** @returns whether nothing failed that a quiet machine would have let succeed. */
export function printChecks(judged: readonly JudgedRun[], checks: readonly Check[]): boolean {
  if (checks.length === 0) return true;
  say('\nWhat these runs must show, from their own measurements:');
  let failed = false;
  for (const { variant, claim, holds, detail } of checks) {
    const disturbedRun = disturbed(judged.find(({ run }) => run.variant === variant)!.run);
    const mark =
      holds === null ? 'unknown  ' : holds ? 'holds    ' : disturbedRun ? 'disturbed' : 'FAILS    ';
    failed ||= holds === false && !disturbedRun;
    say(`  ${mark}  ${variant}: ${claim} (${detail})`);
  }
  for (const { run } of judged) {
    const text = disturbance(run.load.steps);
    if (text) say(`  ${run.variant}: ${text}; what does not hold there proves nothing`);
  }
  return !failed;
}
