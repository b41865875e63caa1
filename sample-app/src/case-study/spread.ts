import type { Check, JudgedRun } from './checks.ts';
import { measureKnee } from './knee.ts';

/** One repetition of all variants. */
export interface Repetition {
  readonly judged: readonly JudgedRun[];
  readonly checks: readonly Check[];
}

/** @returns lines that say how far the repetitions lie apart, variant by variant. */
export function spreadLines(repetitions: readonly Repetition[]): string[] {
  const variants = [...new Set(repetitions.flatMap(({ judged }) => judged.map(({ run }) => run.variant)))];
  return variants.map((variant) => {
    const runs = repetitions.flatMap(({ judged }) => judged.filter(({ run }) => run.variant === variant));
    const checks = repetitions.flatMap((one) => one.checks.filter((check) => check.variant === variant));
    return `  ${variant}: ${kneeSpread(runs)}; first queue ${counted(runs.map(firstQueue))}; ${heldOf(checks)}`;
  });
}

function kneeSpread(runs: readonly JudgedRun[]): string {
  const knees = runs
    .map(({ run }) => measureKnee(run.load.steps).perSecond)
    .filter((knee) => knee !== null)
    .sort((a, b) => a - b);
  if (knees.length === 0) return `no knee in ${runs.length} runs`;
  const median = knees[Math.floor(knees.length / 2)]!;
  const open = knees.length < runs.length ? `, none in ${runs.length - knees.length} of ${runs.length}` : '';
  return `knee ${knees[0]!.toFixed(1)} to ${knees.at(-1)!.toFixed(1)}/s, median ${median.toFixed(1)}/s${open}`;
}

function firstQueue({ report }: JudgedRun): string {
  return report?.verdict.first?.resource ?? report?.verdict.status ?? 'no report';
}

function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${name} (${count} of ${names.length})`).join(', ');
}

function heldOf(checks: readonly Check[]): string {
  const known = checks.filter(({ holds }) => holds !== null);
  return `${known.filter(({ holds }) => holds).length} of ${known.length} checks hold`;
}
