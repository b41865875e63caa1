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

const MS = 1e6;

/** A hot row held for 10 ms inside a pool of 20, before a service that could do ten times as much. */
export function hotRow(): Scenario {
  const statement = { do: 'statement' as const, table: 'campaign', cost: constant(5 * MS) };
  const cpu = constant(0.2 * MS);
  return bareScenario({
    cpu: { receive: cpu, callback: constant(0.02 * MS), resume: constant(0.02 * MS), respond: cpu },
    servers: [{ address: 'db', port: 5432, kind: 'postgres', capacity: 30, slowdownPerCall: 0 }],
    pools: [
      {
        name: 'signup',
        kind: 'pg',
        size: 20,
        server: 0,
        acquireTimeoutNs: null,
        churn: 0,
        idleTimeoutNs: null,
        handshake: constant(5 * MS),
        handshakes: 4,
        handshakesStated: true,
      },
    ],
    locks: [{ relation: 'campaign', capacity: 1, hotShare: 1, hotKeys: 1, coldKeys: 1 }],
    routes: [
      {
        name: 'POST /signup',
        weight: 1,
        steps: [
          {
            do: 'transaction',
            pool: 0,
            body: [
              { ...statement, verb: 'UPDATE', lock: 0 },
              { ...statement, verb: 'COMMIT' },
            ],
          },
        ],
      },
    ],
  });
}
