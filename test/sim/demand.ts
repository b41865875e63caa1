import {
  ADMISSION,
  connectResource,
  EVENT_LOOP,
  lockResource,
  poolResource,
  type QueueRef,
  queuesOf,
  type Scenario,
  type Step,
  serverResource,
} from './scenario.ts';

/** What one queue is asked for by one request on average, when nobody waits anywhere. */
export interface Demand {
  readonly queue: QueueRef;
  readonly visitsPerRequest: number;
  /** Visits times own hold; of the busiest key, where the queue is a lock. */
  readonly ownNs: number;
  /** Servers of the busiest instance. */
  readonly capacity: number;
  /** Rate of the whole service at which the busiest instance is always busy: capacity / own demand (operational law). */
  readonly saturatesAtPerSecond: number;
}

/** @returns the demand at every queue, from the means of the scenario alone. */
export function demands(scenario: Scenario): Demand[] {
  return walkRoutes(scenario).demands;
}

/** @returns the mean latency of a request when nobody waits anywhere. */
export function idleLatencyNs(scenario: Scenario): number {
  return walkRoutes(scenario).latencyNs;
}

function walkRoutes(scenario: Scenario): { demands: Demand[]; latencyNs: number } {
  const visits = new Map<string, number>();
  const time = new Map<string, number>();
  const add = (resource: string, n: number, ns: number): void => {
    visits.set(resource, (visits.get(resource) ?? 0) + n);
    time.set(resource, (time.get(resource) ?? 0) + n * ns);
  };
  const { cpu, pools, routes, admission, pauses } = scenario;
  const drift = 1 + scenario.driftOverRun / 2;
  const turn = (weight: number, ns: number): number => {
    add(EVENT_LOOP, weight, ns);
    return ns;
  };

  /** Adds the demand of steps done with the given weight. @returns how long they take. */
  const walk = (steps: readonly Step[], weight: number, pool: number): number => {
    let ns = 0;
    const held: { resource: string; since: number }[] = [];
    const release = (): void => {
      for (const { resource, since } of held.splice(0)) add(resource, weight, ns - since);
    };
    for (const step of steps) {
      if (step.do === 'cpu') ns += turn(weight, step.cost.meanNs);
      else if (step.do === 'parallel') {
        ns += Math.max(...step.branches.map((branch) => walk(branch, weight, pool)));
      } else if (step.do === 'tail') walk(step.steps, weight, pool);
      else if (step.do === 'statement') {
        if (step.lock !== undefined) held.push({ resource: lockResource(scenario, step.lock), since: ns });
        const cost = step.cost.meanNs * drift;
        add(serverResource(scenario, pools[pool].server), weight, cost);
        ns += cost;
        if (step.verb === 'COMMIT') release();
        ns += turn(weight, cpu.callback.meanNs);
      } else if (step.do === 'call') {
        const failures = step.failures ?? 0;
        let attempts = 1;
        for (let i = 1; i <= (step.retries ?? 0); i++) attempts += failures ** i;
        const cost = step.cost.meanNs * drift;
        add(serverResource(scenario, step.server), weight * attempts, cost);
        const once = cost + turn(weight * attempts, cpu.callback.meanNs);
        ns += once * attempts;
        if (step.agent !== undefined) add(poolResource(scenario, step.agent), weight, once * attempts);
      } else {
        const { kind, churn, handshake } = pools[step.pool];
        let hold = 0;
        if (kind === 'pg' && churn > 0) {
          add(connectResource(scenario, step.pool), weight * churn, handshake.meanNs * drift);
          hold += churn * (handshake.meanNs * drift + cpu.resume.meanNs);
          turn(weight * churn, cpu.resume.meanNs);
        }
        hold += walk(step.body, weight, step.pool);
        add(poolResource(scenario, step.pool), weight, hold);
        ns += hold;
      }
    }
    release();
    return ns;
  };

  const total = routes.reduce((sum, route) => sum + route.weight, 0);
  let latencyNs = 0;
  for (const route of routes) {
    const weight = route.weight / total;
    turn(weight, cpu.receive.meanNs);
    const ns = walk(route.steps, weight, -1) + turn(weight, cpu.respond.meanNs);
    if (admission) add(ADMISSION, weight, ns);
    latencyNs += weight * (ns + cpu.receive.meanNs);
  }

  const shares = scenario.replicas.reduce((sum, share) => sum + share, 0);
  const hottest = Math.max(...scenario.replicas) / shares;
  const list = queuesOf(scenario).map((queue): Demand => {
    let share = hottest;
    let capacity = 1;
    let available = 1;
    if (queue.kind === 'admission') capacity = admission?.slots ?? 1;
    else if (queue.kind === 'pool') capacity = pools[queue.index].size;
    else if (queue.kind === 'connection') capacity = pools[queue.index].handshakes;
    else if (queue.kind === 'downstream') {
      capacity = scenario.servers[queue.index].capacity;
      share = 1;
    } else if (queue.kind === 'lock') {
      const { hotShare, hotKeys, coldKeys } = scenario.locks[queue.index];
      capacity = scenario.locks[queue.index].capacity;
      share = Math.max(hotShare / hotKeys, (1 - hotShare) / coldKeys);
    } else if (pauses) available = 1 - pauses.length.meanNs / pauses.everyNs;
    const ownNs = (time.get(queue.resource) ?? 0) * share;
    return {
      queue,
      visitsPerRequest: visits.get(queue.resource) ?? 0,
      ownNs,
      capacity,
      saturatesAtPerSecond: ownNs > 0 ? (capacity * available * 1e9) / ownNs : Number.POSITIVE_INFINITY,
    };
  });
  return { demands: list, latencyNs };
}
