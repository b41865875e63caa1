import { type Duration, scaled } from './random.ts';
import type { QueueRef, Scenario, Step } from './scenario.ts';

/** A changed scenario and by how much the changed queue is stronger: capacity after / capacity before. */
export interface Relieved {
  readonly scenario: Scenario;
  readonly factor: number;
}

/**
 * Makes one queue stronger by about `factor`: capacities are whole numbers, so the factor reached is returned; a row
 * lock goes to as many holders as that needs, the event loop to slices shorter by the factor.
 */
export function relieve(scenario: Scenario, queue: QueueRef, factor: number): Relieved {
  const { kind, index } = queue;
  const grown = (capacity: number): number => Math.max(capacity + 1, Math.round(capacity * factor));
  if (kind === 'eventloop') return { scenario: holdFactor(scenario, queue, 1 / factor), factor };
  if (kind === 'admission') {
    const slots = scenario.admission?.slots ?? 1;
    return capacityTo(scenario, queue, grown(slots), slots);
  }
  if (kind === 'pool') {
    const { size } = scenario.pools[index];
    return capacityTo(scenario, queue, grown(size), size);
  }
  if (kind === 'connection') {
    const { handshakes } = scenario.pools[index];
    return capacityTo(scenario, queue, grown(handshakes), handshakes);
  }
  if (kind === 'lock') {
    const { capacity } = scenario.locks[index];
    return capacityTo(scenario, queue, grown(capacity), capacity);
  }
  const { capacity } = scenario.servers[index];
  return capacityTo(scenario, queue, grown(capacity), capacity);
}

function capacityTo(scenario: Scenario, queue: QueueRef, to: number, from: number): Relieved {
  return { scenario: withCapacity(scenario, queue, to), factor: to / from };
}

/** @returns the scenario with another capacity at one queue. */
export function withCapacity(scenario: Scenario, queue: QueueRef, capacity: number): Scenario {
  const { kind, index } = queue;
  const replace = <T>(list: readonly T[], change: Partial<T>): T[] =>
    list.map((item, i) => (i === index ? { ...item, ...change } : item));
  if (kind === 'admission' && scenario.admission) {
    return { ...scenario, admission: { ...scenario.admission, slots: capacity } };
  }
  if (kind === 'pool') return { ...scenario, pools: replace(scenario.pools, { size: capacity }) };
  if (kind === 'connection') return { ...scenario, pools: replace(scenario.pools, { handshakes: capacity }) };
  if (kind === 'lock') return { ...scenario, locks: replace(scenario.locks, { capacity }) };
  if (kind === 'downstream') return { ...scenario, servers: replace(scenario.servers, { capacity }) };
  throw new Error(`${queue.resource} has no capacity that could be set`);
}

/** @returns the scenario in which the own service inside one queue's holds takes `factor` of its time. */
export function holdFactor(scenario: Scenario, queue: QueueRef, factor: number): Scenario {
  const { kind, index } = queue;
  const times = (duration: Duration): Duration => scaled(duration, factor);
  const cpu = kind === 'eventloop';
  const map = (steps: readonly Step[], pool: number, inside: boolean): Step[] => {
    let locked = false;
    return steps.map((step): Step => {
      if (step.do === 'cpu') return cpu || inside || locked ? { ...step, cost: times(step.cost) } : step;
      if (step.do === 'parallel') {
        return { ...step, branches: step.branches.map((branch) => map(branch, pool, inside || locked)) };
      }
      if (step.do === 'tail') return { ...step, steps: map(step.steps, pool, inside) };
      if (step.do === 'transaction') {
        const within = inside || locked || (kind === 'pool' && index === step.pool);
        return { ...step, body: map(step.body, step.pool, within) };
      }
      if (step.do === 'call') {
        const within =
          inside ||
          locked ||
          (kind === 'downstream' && index === step.server) ||
          (kind === 'pool' && index === step.agent);
        return within ? { ...step, cost: times(step.cost) } : step;
      }
      if (kind === 'lock' && step.lock === index) locked = true;
      const within =
        inside || locked || (kind === 'downstream' && pool >= 0 && scenario.pools[pool].server === index);
      const changed = within ? { ...step, cost: times(step.cost) } : step;
      if (step.verb === 'COMMIT') locked = false;
      return changed;
    });
  };
  const { receive, callback, resume, respond } = scenario.cpu;
  return {
    ...scenario,
    cpu: cpu
      ? {
          receive: times(receive),
          callback: times(callback),
          resume: times(resume),
          respond: times(respond),
        }
      : scenario.cpu,
    pools:
      kind === 'connection'
        ? scenario.pools.map((pool, i) =>
            i === index ? { ...pool, handshake: times(pool.handshake) } : pool,
          )
        : scenario.pools,
    routes: scenario.routes.map((route) => ({ ...route, steps: map(route.steps, -1, false) })),
  };
}
