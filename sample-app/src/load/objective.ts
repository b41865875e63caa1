import type { Objective } from './manifest.ts';
import type { StepResult } from './step-recorder.ts';

/** One part of the objective and whether it was kept; null where it could not be measured. */
export interface ObjectiveResult {
  readonly objective: string;
  readonly met: boolean | null;
  readonly detail: string;
}

/**
 * Judges an objective. What holds up to a load is judged step by step over `ramp` and `steady`: the detail says
 * at which rate it broke. Goodput is the highest of any step. `recoverySeconds` needs a look at the service's
 * queues and is judged by those who have one.
 */
export function judgeObjective(
  objective: Objective | undefined,
  steps: readonly StepResult[],
): ObjectiveResult[] {
  const judged = steps.filter(({ phase, repeated }) => !repeated && (phase === 'ramp' || phase === 'steady'));
  if (objective === undefined || judged.length === 0) return [];
  const results: ObjectiveResult[] = [];
  const upTo = (name: string, limit: number | undefined, value: (step: StepResult) => number | null) => {
    if (limit !== undefined) results.push(judgeSteps(`${name} <= ${limit}`, limit, judged, value));
  };
  upTo('p99 ms', objective.p99Ms, ({ latencyFromPlannedNs: { p99 } }) => (p99 === null ? null : p99 / 1e6));
  upTo('p99.9 ms', objective.p999Ms, ({ latencyFromPlannedNs: { p999 } }) =>
    p999 === null ? null : p999 / 1e6,
  );
  upTo('error share', objective.errorShare, (step) => 1 - step.succeeded / Math.max(1, step.planned));
  upTo('service cores', objective.appCpuShare, (step) => step.cpu['app'] ?? null);
  upTo('database cores', objective.dbCpuShare, (step) => step.cpu['db'] ?? null);
  const { goodputPerSecond } = objective;
  if (goodputPerSecond !== undefined) {
    const top = Math.max(...steps.map((step) => step.goodputPerSecond));
    results.push({
      objective: `goodput per second >= ${goodputPerSecond}`,
      met: top >= goodputPerSecond,
      detail: `${top.toFixed(1)} at most`,
    });
  }
  return results;
}

/** @returns one line for people. */
export function objectiveLine({ objective, met, detail }: ObjectiveResult): string {
  return `${met === null ? 'unknown' : met ? 'kept   ' : 'broken '}  objective ${objective} (${detail})`;
}

function judgeSteps(
  objective: string,
  limit: number,
  steps: readonly StepResult[],
  value: (step: StepResult) => number | null,
): ObjectiveResult {
  const broken = steps.find((step) => (value(step) ?? 0) > limit);
  if (steps.every((step) => value(step) === null)) return { objective, met: null, detail: 'not measured' };
  if (broken === undefined) {
    const last = steps.at(-1)!;
    return {
      objective,
      met: true,
      detail: `kept in all steps, up to ${last.arrivalsPerSecond.toFixed(0)}/s`,
    };
  }
  return {
    objective,
    met: false,
    detail: `${value(broken)!.toPrecision(3)} at ${broken.arrivalsPerSecond.toFixed(0)}/s`,
  };
}
