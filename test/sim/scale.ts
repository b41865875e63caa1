import { scaled } from './random.ts';
import type { Scenario, Step } from './scenario.ts';

function mapSteps(steps: readonly Step[], change: (step: Step) => Step): Step[] {
  return steps.map((step) => {
    if (step.do === 'parallel') {
      return { ...step, branches: step.branches.map((branch) => mapSteps(branch, change)) };
    }
    if (step.do === 'tail') return { ...step, steps: mapSteps(step.steps, change) };
    if (step.do === 'transaction') return { ...step, body: mapSteps(step.body, change) };
    return change(step);
  });
}

/** Scales the CPU of a service. */
export function scaleCpu(scenario: Scenario, factor: number): Scenario {
  const { receive, callback, resume, respond } = scenario.cpu;
  const cpu = {
    resume,
    receive: scaled(receive, factor),
    // A callback that only passes a reply on stays short, however heavy the service's own work is.
    callback: scaled(callback, Math.min(factor, 2)),
    respond: scaled(respond, factor),
  };
  return { ...scaleWhere(scenario, (step) => step.do === 'cpu', factor), cpu };
}

/** Scales the statements from the one that locks to COMMIT. */
export function scaleLocked(scenario: Scenario, factor: number): Scenario {
  const tables = new Set(['campaign', 'signup', 'audit_log', '']);
  return scaleWhere(
    scenario,
    (step) =>
      step.do === 'statement' && step.verb !== 'SELECT' && step.verb !== 'BEGIN' && tables.has(step.table),
    factor,
  );
}

/** Scales the durations of the steps that match. */
export function scaleWhere(scenario: Scenario, matches: (step: Step) => boolean, factor: number): Scenario {
  return {
    ...scenario,
    routes: scenario.routes.map((route) => ({
      ...route,
      steps: mapSteps(route.steps, (step) =>
        'cost' in step && matches(step) ? { ...step, cost: scaled(step.cost, factor) } : step,
      ),
    })),
  };
}
