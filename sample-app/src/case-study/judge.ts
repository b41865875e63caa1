import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitfall } from '../run/analyzer.ts';
import { say, shown } from '../run/command.ts';
import { type Check, disturbances, disturbed, type JudgedRun } from './checks.ts';

/** The evidence record: what changed from the before run to each other one, by the analyzer. */
export async function printEvidence(judged: readonly JudgedRun[]): Promise<void> {
  const [before, ...others] = judged;
  if (before?.run.variant !== 'before') return;
  for (const { run } of others) {
    const record = await waitfall(['compare', shown(before.run.directory), shown(run.directory)]);
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
    for (const text of disturbances(run))
      say(`  ${run.variant}: ${text}; what does not hold there proves nothing`);
  }
  return !failed;
}
