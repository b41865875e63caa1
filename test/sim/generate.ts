import { type Demand, demands } from './demand.ts';
import { constant, type Duration, exponential, lognormal, Random, scaled } from './random.ts';
import { scaleCpu, scaleLocked, scaleWhere } from './scale.ts';
import {
  type Call,
  type Load,
  poolResource,
  type QueueKind,
  type Route,
  type Scenario,
  type Statement,
  type Step,
} from './scenario.ts';

export { type Coverage, planLoad } from './plan-load.ts';

/** Which queue a scenario is built to saturate first; `none`: any of them, but the load stops well below. */
export const FAMILIES = [
  'admission',
  'eventloop',
  'pool-a',
  'pool-b',
  'lock',
  'downstream',
  'connection',
  'none',
] as const;
export type Family = (typeof FAMILIES)[number];
export type Target = Exclude<Family, 'none'>;

/** What else is special about a scenario. */
export const SHAPES = [
  'plain',
  'replicas',
  'bounded',
  'loss',
  'retries',
  'slowdown',
  'drift',
  'idle',
  'closed',
] as const;
export type Shape = (typeof SHAPES)[number];

/** A generated service, its load still to be planned around its knee. */
export interface Blueprint {
  readonly seed: number;
  readonly family: Family;
  readonly shape: Shape;
  readonly target: Target;
  readonly scenario: Scenario;
}

const MS = 1e6;
const NO_LOAD: Load = { steps: [], arrivals: 'poisson', burst: 1, closed: null };
const SHAPE_WEIGHTS = [54, 15, 7, 4, 4, 4, 4, 3, 5];

/** @returns the service of a seed: the family goes round with the seed, everything else is drawn. */
export function blueprint(seed: number, wanted?: { family?: Family; shape?: Shape }): Blueprint {
  const random = new Random(seed, 101);
  const family = wanted?.family ?? FAMILIES[seed % FAMILIES.length];
  const targets = FAMILIES.filter((name) => name !== 'none') as Target[];
  const target = family === 'none' ? random.pick(targets) : family;
  const shape = wanted?.shape ?? SHAPES[random.weighted(SHAPE_WEIGHTS)];
  const tie = random.chance(0.1);
  for (let attempt = 0; attempt < 400; attempt++) {
    const scenario = service(seed, attempt, target, shape, tie);
    const ranked = demands(scenario).sort((a, b) => a.saturatesAtPerSecond - b.saturatesAtPerSecond);
    if (!isTarget(ranked[0], target)) continue;
    const margin = ranked[1].saturatesAtPerSecond / ranked[0].saturatesAtPerSecond;
    if (tie ? margin < 1.12 : margin > 1.15) return { seed, family, shape, target, scenario };
  }
  throw new Error(`seed ${seed}: no service found in which ${target} saturates first`);
}

function isTarget({ queue }: Demand, target: Target): boolean {
  if (target === 'pool-a') return queue.kind === 'pool' && queue.index === 0;
  if (target === 'pool-b') return queue.kind === 'pool' && queue.index === 1;
  return queue.kind === target;
}

const POOL_A = 0;
const POOL_B = 1;
const DB_MAIN = 0;
const DB_REPLICA = 1;
const RISK_API = 2;
const AGENT = 2;

/** A draw of the whole service; integer capacities are rounded, so the caller checks what came out. */
function service(seed: number, attempt: number, target: Target, shape: Shape, tie: boolean): Scenario {
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
  let scenario: Scenario = {
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

  // Fit each queue to the rate it is wanted to saturate at, inner ones first: they decide the holds of the outer ones.
  const rate = (resource: string): number =>
    demands(scenario).find((demand) => demand.queue.resource === resource)?.saturatesAtPerSecond ??
    Number.POSITIVE_INFINITY;
  const demand = (resource: string): number =>
    demands(scenario).find((d) => d.queue.resource === resource)?.ownNs ?? 0;
  /** Makes holds so long that this many servers are all busy at the knee, by one operation that fills them. */
  const fill = (resource: string, servers: number, matches: (step: Step) => boolean): void => {
    const missing = (servers * 1e9) / knee - demand(resource);
    const base = demand(resource);
    scenario = scaleWhere(scenario, matches, 2);
    const perUnit = demand(resource) - base;
    scenario = scaleWhere(scenario, matches, Math.max(0.1, 1 + missing / perUnit) / 2);
  };
  const loopAt = wanted('eventloop', target === 'eventloop', 1.3, 5);
  // Twice: callbacks do not follow beyond a limit, so one pass does not always arrive.
  for (let pass = 0; pass < 2; pass++) scenario = scaleCpu(scenario, rate('eventloop') / loopAt);
  const lockFactor = rate('lock:campaign') / wanted('lock', target === 'lock', 1.4, 5);
  scenario = scaleLocked(scenario, Math.min(8, Math.max(0.1, lockFactor)));
  const perReplica = (n: number): number => Math.max(3, Math.round(n / Math.sqrt(replicas.length)));
  if (target === 'pool-a') {
    fill(
      'pg-pool:signup',
      perReplica(3 + random.below(14)),
      (step) => step.do === 'statement' && step.table === 'account',
    );
  }
  if (target === 'pool-b') {
    fill(
      'pg-pool:report',
      perReplica(3 + random.below(14)),
      (step) => step.do === 'statement' && ['orders', 'events', 'totals'].includes(step.table),
    );
  }
  if (target === 'admission') {
    fill('http.server', perReplica(5 + random.below(40)), (step) => step.do === 'call');
  }
  scenario = {
    ...scenario,
    servers: scenario.servers.map((server, i) => {
      const resource = `${server.address}:${server.port}`;
      const targeted = target === 'downstream' && i === (usesRisk ? RISK_API : DB_REPLICA);
      const at = wanted('downstream', targeted, 1.4, 4);
      return {
        ...server,
        capacity: Math.max(i === RISK_API ? 1 : 2, Math.round((demand(resource) * at) / 1e9)),
      };
    }),
  };
  if (usesRisk && shape === 'slowdown') {
    // Fully busy, the server is slower by this share.
    const slowdown = random.between(0.25, 0.8);
    scenario = {
      ...scenario,
      servers: scenario.servers.map((server, i) =>
        i === RISK_API ? { ...server, slowdownPerCall: slowdown / server.capacity } : server,
      ),
    };
  }
  if (usesRisk && target !== 'admission') {
    const at = wanted('downstream', target === 'downstream', 1.4, 4);
    const factor = Math.min(3, Math.max(0.3, rate('risk-api:443') / at));
    scenario = scaleWhere(scenario, (step) => step.do === 'call', factor);
  }
  scenario = {
    ...scenario,
    pools: scenario.pools.map((p, i) => {
      if (p.kind === 'agent') return p;
      if (p.churn === 0) return { ...p, handshake: cost(random.between(4, 15)) };
      const at = wanted('connection', i === churned, 1.5, 4);
      const factor = rate(`connect:pg-pool:${p.name}`) / at;
      return { ...p, handshake: scaled(p.handshake, Math.min(8, Math.max(0.2, factor))) };
    }),
  };
  scenario = {
    ...scenario,
    pools: scenario.pools.map((p, i) => {
      const targeted = (target === 'pool-a' && i === POOL_A) || (target === 'pool-b' && i === POOL_B);
      const at = wanted('pool', targeted, 1.4, 4);
      const size = Math.round((demand(poolResource(scenario, i)) * at) / 1e9);
      return { ...p, size: Math.max(targeted ? 2 : 4 + random.below(7), size) };
    }),
  };
  if (scenario.admission) {
    const at = wanted('admission', target === 'admission', shape === 'loss' ? 2.2 : 1.6, 5);
    const least = target === 'admission' ? 3 : 12 + random.below(50);
    const slots = Math.max(least, Math.round((demand('http.server') * at) / 1e9));
    const queue = shape === 'bounded' ? Math.round(slots * random.between(1, 4)) : scenario.admission.queue;
    const timeoutNs =
      shape === 'bounded' && random.chance(0.5) ? Math.round(random.between(0.5, 2) * 1e9) : null;
    scenario = { ...scenario, admission: { slots, queue, timeoutNs } };
  }
  return scenario;
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
