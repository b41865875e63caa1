import type { Shape, Target } from './families.ts';
import { constant, type Duration, exponential, lognormal, Random } from './random.ts';
import type { Call, Load, QueueKind, Route, Scenario, Statement, Step } from './scenario.ts';

const MS = 1e6;
const NO_LOAD: Load = { steps: [], arrivals: 'poisson', burst: 1, closed: null };

export const POOL_A = 0;
export const POOL_B = 1;
export const DB_MAIN = 0;
export const DB_REPLICA = 1;
export const RISK_API = 2;
export const AGENT = 2;

/** What was drawn, its capacities still to be fitted. */
export interface Draw {
  readonly scenario: Scenario;
  /** Goes on where the draw stopped. */
  readonly random: Random;
  readonly target: Target;
  readonly shape: Shape;
  /** Rate at which the target shall saturate, per second. */
  readonly knee: number;
  /** Rate at which a queue shall saturate: the knee for the target, near it for a tie, else between two factors of it. */
  readonly wanted: (kind: QueueKind, isTargeted: boolean, low: number, high: number) => number;
  /** A service time of a random shape. */
  readonly cost: (meanMs: number) => Duration;
  readonly usesRisk: boolean;
  /** The pool that opens many connections; -1: none. */
  readonly churned: number;
}

/** Draws what requests do, and the resources they do it with. */
export function drawService(seed: number, attempt: number, target: Target, shape: Shape, tie: boolean): Draw {
  const random = new Random(seed, 102, attempt);
  const knee = random.logBetween(50, 250);
  const tied = tie ? random.pick(['eventloop', 'lock', 'pool', 'downstream'] as QueueKind[]) : null;
  const wanted = (kind: QueueKind, isTargeted: boolean, low: number, high: number): number =>
    knee * (isTargeted ? 1 : kind === tied ? random.between(1.01, 1.1) : random.logBetween(low, high));
  const cost = (meanMs: number): Duration => {
    const kind = random.below(3);
    if (kind === 0) return constant(meanMs * MS);
    return kind === 1 ? exponential(meanMs * MS) : lognormal(meanMs * MS, random.between(0.3, 0.9));
  };
  const statement = (verb: Statement['verb'], table: string, ms: number, lock?: number): Statement => ({
    do: 'statement',
    verb,
    table,
    cost: cost(ms),
    ...(lock === undefined ? {} : { lock }),
  });

  // What a request does.
  const limited = random.chance(0.2);
  const call = (operation: string): Call => ({
    do: 'call',
    ...(limited ? { agent: AGENT } : {}),
    server: RISK_API,
    operation,
    cost: cost(random.logBetween(3, 40)),
    ...(shape === 'retries'
      ? random.chance(0.5)
        ? { failures: random.between(0.05, 0.25), retries: 2 }
        : { timeoutNs: Math.round(random.between(120, 250) * MS), retries: 1 }
      : {}),
  });
  const body: Step[] = [statement('BEGIN', '', 0.2)];
  if (random.chance(0.4) || target === 'pool-a') {
    body.push(statement('SELECT', 'account', random.logBetween(0.3, 2)));
  }
  body.push(statement('UPDATE', 'campaign', random.logBetween(0.3, 1.5), 0));
  body.push(statement('INSERT', 'signup', random.logBetween(0.3, 2)));
  if (random.chance(0.6)) body.push(statement('INSERT', 'audit_log', random.logBetween(0.5, 6)));
  body.push(statement('COMMIT', '', random.logBetween(0.4, 2)));
  if (random.chance(0.12)) body.splice(1, 0, call('POST /score'));
  const signup: Step[] = [{ do: 'transaction', pool: POOL_A, body }];
  if (random.chance(0.6) || target === 'downstream' || target === 'admission')
    signup.unshift(call('GET /risk'));
  if (random.chance(0.5)) signup.splice(1, 0, { do: 'cpu', cost: cost(random.logBetween(0.1, 1)) });
  if (random.chance(0.15)) {
    signup.push({
      do: 'tail',
      steps: [{ do: 'transaction', pool: POOL_B, body: [statement('INSERT', 'outbox', 1)] }],
    });
  }
  const report: Step[] = [];
  const selects = 1 + random.below(3);
  const reads: Step = {
    do: 'transaction',
    pool: POOL_B,
    body: Array.from({ length: selects }, (_, i) =>
      statement('SELECT', ['orders', 'events', 'totals'][i], random.logBetween(1, 12)),
    ),
  };
  if (random.chance(0.35)) report.push({ do: 'parallel', branches: [[reads], [call('GET /prices')]] });
  else report.push(reads);
  report.push({ do: 'cpu', cost: cost(random.logBetween(0.2, 2)) });
  const routes: Route[] = [{ name: 'POST /signup', weight: random.between(0.35, 0.8), steps: signup }];
  if (target === 'pool-b' || random.chance(0.75)) {
    routes.push({ name: 'GET /report', weight: random.between(0.2, 0.6), steps: report });
  }
  if (random.chance(0.5)) {
    routes.push({
      name: 'GET /campaign',
      weight: random.between(0.1, 0.4),
      steps: [
        {
          do: 'transaction',
          pool: POOL_A,
          body: [statement('SELECT', 'campaign', random.logBetween(0.3, 2))],
        },
      ],
    });
  }

  const replicas = shape === 'replicas' ? shares(random) : [1];
  const hotShare = random.chance(0.25) ? 1 : random.between(0.3, 0.95);
  const hotKeys = random.chance(0.8) ? 1 : 2;
  const either = random.chance(0.5) && routesUse(routes, POOL_B) ? POOL_B : POOL_A;
  const churned = target === 'connection' ? either : -1;
  const churn = (pool: number): number => {
    if (pool === churned) return random.between(0.1, 0.6);
    return random.chance(0.2) ? random.between(0.01, 0.1) : 0;
  };
  const pool = (index: number, name: string): Scenario['pools'][number] => ({
    name,
    kind: 'pg',
    size: 10,
    server: index === POOL_A ? DB_MAIN : DB_REPLICA,
    acquireTimeoutNs:
      shape === 'bounded' && random.chance(0.5) ? Math.round(random.between(1, 3) * 1e9) : null,
    churn: churn(index),
    idleTimeoutNs: shape === 'idle' ? Math.round(random.between(0.2, 1) * 1e9) : null,
    handshake: cost(10),
    handshakes: 1 + random.below(3),
    handshakesStated: random.chance(0.5),
  });
  const usesRisk = JSON.stringify(routes).includes(`"server":${RISK_API}`);
  const scenario: Scenario = {
    seed,
    service: 'signup',
    replicas,
    admission:
      target === 'admission' || shape === 'loss' || shape === 'bounded' || random.chance(0.7)
        ? { slots: 10, queue: shape === 'loss' ? 0 : null, timeoutNs: null }
        : null,
    cpu: {
      receive: cost(random.logBetween(0.1, 0.8)),
      callback: cost(random.logBetween(0.02, 0.1)),
      resume: constant(random.between(0.02, 0.06) * MS),
      respond: cost(random.logBetween(0.1, 0.6)),
    },
    pauses: random.chance(0.25)
      ? { everyNs: random.between(0.4, 2) * 1e9, length: lognormal(random.between(4, 25) * MS, 0.5) }
      : null,
    pools: [
      pool(POOL_A, 'signup'),
      pool(POOL_B, 'report'),
      ...(usesRisk && limited ? [agentOf(RISK_API)] : []),
    ],
    servers: [
      { address: 'db-main', port: 5432, kind: 'postgres', capacity: 8, slowdownPerCall: 0 },
      { address: 'db-replica', port: 5432, kind: 'postgres', capacity: 8, slowdownPerCall: 0 },
      ...(usesRisk
        ? [
            {
              address: 'risk-api',
              port: 443,
              kind: 'http' as const,
              capacity: 4,
              slowdownPerCall: 0,
            },
          ]
        : []),
    ],
    locks: [{ relation: 'campaign', capacity: 1, hotShare, hotKeys, coldKeys: 20 + random.below(200) }],
    routes,
    load: {
      ...NO_LOAD,
      arrivals: random.pick(['poisson', 'poisson', 'poisson', 'even', 'bursty']),
      burst: 3,
    },
    driftOverRun: shape === 'drift' ? random.between(0.3, 1) : 0,
  };
  return { scenario, random, target, shape, knee, wanted, cost, usesRisk, churned };
}

/** Sockets to one server; they are always there, a call only waits for a free one. */
function agentOf(server: number): Scenario['pools'][number] {
  return {
    name: 'agent',
    kind: 'agent',
    size: 10,
    server,
    acquireTimeoutNs: null,
    churn: 0,
    idleTimeoutNs: null,
    handshake: constant(0),
    handshakes: 1,
    handshakesStated: false,
  };
}

/** @returns whether a pool is used by something a request waits for. */
function routesUse(routes: readonly Route[], pool: number): boolean {
  const awaited = routes.map(({ steps }) => steps.filter((step) => step.do !== 'tail'));
  return JSON.stringify(awaited).includes(`"pool":${pool}`);
}

/** @returns shares of arrivals of 2 to 8 processes; one of them gets more than the others. */
function shares(random: Random): number[] {
  const n = 2 + random.below(7);
  const hot = random.chance(0.5) ? random.between(1.1, 1.8) : 1;
  return Array.from({ length: n }, (_, i) => (i === 0 ? hot : random.between(0.95, 1.05)));
}
