import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDuration } from '../../model/duration.ts';
import type { Diagnosis } from '../doctor/diagnose.ts';
import { EXIT, errors } from '../errors.ts';
import { load } from '../load.ts';
import { type CommonFlags, textStyle } from '../options.ts';
import { write } from '../output.ts';
import { exitCode } from './report.ts';

export interface DoctorFlags extends CommonFlags {
  readonly start?: boolean;
  readonly for?: string;
  readonly minCoverage?: string;
  readonly format: 'text' | 'json';
}

/**
 * `waitfall doctor`: what was measured in each service of an export, or of a service started for it, and what was not.
 * @returns the exit code, {@link EXIT.budget} where less is accounted for than was asked for.
 */
export async function doctorCommand(words: readonly string[], flags: DoctorFlags): Promise<number> {
  const least = leastCoverage(flags);
  if (flags.start !== true) {
    if (flags.for !== undefined) throw errors.badOption('--for', flags.for, 'it needs --start');
    return examine(words, flags, least);
  }
  if (words.length === 0) {
    throw errors.badOption(
      '--start',
      '',
      'write the command after --, such as: doctor --start -- node server.js',
    );
  }
  const forMs = flags.for === undefined ? null : (parseDuration(flags.for) ?? 0) / 1e6;
  if (forMs === 0) throw errors.badOption('--for', flags.for ?? '', 'write a duration such as 30s');
  const folder = mkdtempSync(join(tmpdir(), 'waitfall-doctor-'));
  try {
    const file = join(folder, 'traces.jsonl');
    const { record } = await import('../doctor/record.ts');
    await record(words, file, forMs);
    return await examine([file], flags, least);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function examine(inputs: readonly string[], flags: DoctorFlags, least: number): Promise<number> {
  const analysis = await load(inputs, flags, 'all');
  if (analysis.forest.trees.length === 0) throw errors.nothingToCheck(inputs);
  const { belowCoverage, diagnose, diagnosesJson } = await import('../doctor/diagnose.ts');
  const diagnoses = diagnose(analysis);
  await write([await render(diagnoses)], flags.output);
  const code = exitCode(analysis, flags);
  return belowCoverage(diagnoses, least).length > 0 ? EXIT.budget : code;

  async function render(found: readonly Diagnosis[]): Promise<string> {
    if (flags.format === 'json') {
      const { toJson } = await import('../../report/json.ts');
      return `${toJson({ services: diagnosesJson(found) }, 2)}\n`;
    }
    const [{ layOutDoctor }, { renderText }] = await Promise.all([
      import('../doctor/lay-out.ts'),
      import('../../report/text.ts'),
    ]);
    return renderText(layOutDoctor(found), textStyle(flags));
  }
}

/** @returns the share of a service's time that must be accounted for, 0..1. */
function leastCoverage({ minCoverage }: DoctorFlags): number {
  if (minCoverage === undefined) return 0;
  const percent = Number(/^(\d+(?:\.\d+)?)%$/.exec(minCoverage)?.[1] ?? Number.NaN);
  if (!(percent >= 0 && percent <= 100)) {
    throw errors.badOption('--min-coverage', minCoverage, 'write a share such as 80%');
  }
  return percent / 100;
}
