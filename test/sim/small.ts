import { constant } from './random.ts';
import type { LoadStep, Scenario } from './scenario.ts';

/** A service with one route that does nothing, no pools, no admission: tests add the queue they look at. */
export function bareScenario(change: Partial<Scenario> = {}): Scenario {
  const nothing = constant(0);
  return {
    seed: 1,
    service: 'signup',
    replicas: [1],
    admission: null,
    cpu: { receive: nothing, callback: nothing, resume: nothing, respond: nothing },
    pauses: null,
    pools: [],
    servers: [],
    locks: [],
    routes: [{ name: 'GET /', weight: 1, steps: [] }],
    load: { steps: [], arrivals: 'poisson', burst: 1, closed: null },
    driftOverRun: 0,
    ...change,
  };
}

/** @returns the scenario under one steady step of about n requests. */
export function steadily(scenario: Scenario, arrivalsPerSecond: number, requests: number): Scenario {
  const durationNs = Math.round((requests / arrivalsPerSecond) * 1e9);
  const step: LoadStep = { arrivalsPerSecond, durationNs, phase: 'steady' };
  return { ...scenario, load: { ...scenario.load, steps: [step] } };
}
