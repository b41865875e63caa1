import { type Demand, demands } from './demand.ts';
import { DB_REPLICA, type Draw, POOL_A, POOL_B, RISK_API } from './draw-service.ts';
import type { Target } from './families.ts';
import { scaled } from './random.ts';
import { scaleCpu, scaleLocked, scaleWhere } from './scale.ts';
import { poolResource, type Scenario, type Step } from './scenario.ts';

/** Sizes every queue for the rate it is wanted to saturate at; integer capacities are rounded, so the caller checks what came out. */
export function fitService(draw: Draw): Scenario {
  const { random, target, shape, knee, wanted, cost, usesRisk, churned } = draw;
  let { scenario } = draw;
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
  const perReplica = (n: number): number => Math.max(3, Math.round(n / Math.sqrt(scenario.replicas.length)));
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

/** Whether a queue is the one a service was built to saturate. */
export function isTarget({ queue }: Demand, target: Target): boolean {
  if (target === 'pool-a') return queue.kind === 'pool' && queue.index === 0;
  if (target === 'pool-b') return queue.kind === 'pool' && queue.index === 1;
  return queue.kind === target;
}
