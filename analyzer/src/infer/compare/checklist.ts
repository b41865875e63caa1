import type { Analysis } from '../analysis.ts';
import type { Difference } from './manifest.ts';
import type { ChecklistLine, Met, PredictionCheck, SideBySide } from './types.ts';

/** The checklist of a performance experiment: each line met, not met or unknown, with why. */
export function checklist(
  before: Analysis,
  after: Analysis,
  differences: readonly Difference[] | null,
  atSameLoad: readonly SideBySide[],
  prediction: PredictionCheck,
): ChecklistLine[] {
  const runs = [before, after];
  const line = (text: string, met: Met, detail: string): ChecklistLine => ({ line: text, met, detail });
  const yes = (condition: boolean | null): Met =>
    condition === null ? 'unknown' : condition ? 'met' : 'not met';
  const plans = runs.map((run) => run.plan);
  const planned = plans.every((plan) => plan !== null);
  const closed = runs.some((run) => run.verdict.findings.some((finding) => finding.id === 'closed-loop'));
  const dropped = sumOf(plans, (step) => step.dropped);
  const disturbed = plans.flatMap((plan) => plan?.steps ?? []).filter((step) => step.disturbed).length;
  const past = runs.map((run) => run.verdict.status === 'saturated');
  const invariants = plans.flatMap((plan) => plan?.invariants ?? []);
  const broken = invariants.filter((one) => one.holds === false);
  const recovered = runs.map((run) => run.recovery?.residual ?? null);
  return [
    line(
      'an objective was stated before the runs',
      yes(planned ? plans.every((plan) => plan?.objective != null) : null),
      planned ? 'objective of the load plans' : 'no load plan',
    ),
    line(
      'the workload was the same',
      yes(differences === null ? null : atSameLoad.length >= 2),
      differences === null ? 'no manifests' : `${atSameLoad.length} steps at the same offered rate`,
    ),
    line(
      'exactly one variable was changed',
      yes(differences === null ? null : differences.length === 1),
      differences === null ? 'no manifests' : `${differences.length} settings differ`,
    ),
    line(
      'arrivals did not depend on answers (open model)',
      yes(planned || closed ? !closed : null),
      closed ? 'closed loop recognised' : planned ? 'planned arrivals' : 'no load plan',
    ),
    line(
      'the load generator was not the limit',
      yes(dropped === null ? null : dropped === 0),
      dropped === null ? 'not stated' : `${dropped} requests dropped`,
    ),
    line(
      'the machine was undisturbed',
      yes(planned ? disturbed === 0 : null),
      planned ? `${disturbed} disturbed steps` : 'no load plan',
    ),
    line(
      'the load went past the knee in both runs',
      yes(past.every(Boolean) ? true : past[0] ? null : false),
      past
        .map((p, i) => `${i === 0 ? 'before' : 'after'}: ${p ? 'saturated' : runs[i].verdict.status}`)
        .join(', '),
    ),
    line(
      'results were compared at the same load',
      yes(atSameLoad.length > 0),
      `${atSameLoad.length} common steps`,
    ),
    line('the effect was predicted before it was measured', yes(prediction.held), prediction.text),
    line(
      'overload and recovery were seen',
      yes(runs.every((run) => run.recovery !== null) ? recovered.every((r) => r === 0) : null),
      recovered
        .map((r, i) => `${i === 0 ? 'before' : 'after'}: ${r === null ? 'no recovery step' : `${r} left`}`)
        .join(', '),
    ),
    line(
      'correctness invariants held',
      yes(invariants.length === 0 ? null : broken.length === 0),
      invariants.length === 0
        ? 'none stated'
        : broken.length === 0
          ? `${invariants.length} hold`
          : broken.map((one) => one.name).join(', '),
    ),
    line('the runs were repeated', 'unknown', 'one run of each is given'),
  ];
}

function sumOf(
  plans: readonly Analysis['plan'][],
  value: (step: NonNullable<Analysis['plan']>['steps'][number]) => number | null,
): number | null {
  const all = plans.flatMap((plan) => plan?.steps ?? []).map(value);
  if (all.length === 0 || all.some((v) => v === null)) return null;
  return all.reduce<number>((sum, v) => sum + (v ?? 0), 0);
}
