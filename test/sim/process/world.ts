import { EventQueue } from '../event-queue.ts';
import {
  ADMISSION,
  connectResource,
  EVENT_LOOP,
  lockResource,
  poolResource,
  queuesOf,
  type Scenario,
  serverResource,
} from '../scenario.ts';
import { type SimSpan, SpanLog } from '../spans.ts';
import { Servers, Slots } from '../stations.ts';
import { QueueStats } from '../statistics.ts';

export interface Connections {
  readonly slots: Slots;
  readonly gate: Servers;
  handshaking: number;
  /** Times at which idle connections became idle, the latest last. */
  readonly idle: number[];
}

/** One process of the service. */
export interface Replica {
  readonly index: number;
  readonly loop: Servers;
  readonly admission: Slots | null;
  readonly pools: readonly Connections[];
}

/** One row that is locked now and then. */
export interface Row {
  readonly slots: Slots;
  readonly holders: Set<SimSpan>;
}

/** One value for each kind of queue; lists are by index in the scenario. */
interface PerQueue<T> {
  readonly loop: T;
  readonly admission: T;
  readonly pool: readonly T[];
  readonly connect: readonly T[];
  readonly lock: readonly T[];
  readonly server: readonly T[];
}

/** Everything requests share: the clock, the queues, and who writes down what happens. */
export class World {
  readonly scenario: Scenario;
  readonly events = new EventQueue();
  /** Null where the run does not record. */
  readonly log: SpanLog | null;
  readonly stats: QueueStats;
  readonly replicas: readonly Replica[];
  readonly servers: readonly Servers[];
  /** Start of each load step, and the end of the last. */
  readonly stepStartsNs: readonly number[];
  readonly names: PerQueue<string>;
  /** Numbers of the queues in the statistics. */
  readonly queues: PerQueue<number>;
  readonly #rows: readonly Map<number, Row>[];

  constructor(scenario: Scenario, record: boolean) {
    this.scenario = scenario;
    this.log = record ? new SpanLog() : null;
    const starts = [0];
    for (const step of scenario.load.steps) starts.push(starts[starts.length - 1] + step.durationNs);
    this.stepStartsNs = starts;
    const queues = queuesOf(scenario);
    this.stats = new QueueStats(queues, scenario.load.steps.length);
    this.servers = scenario.servers.map((server) => new Servers(server.capacity));
    this.#rows = scenario.locks.map(() => new Map());
    this.names = {
      loop: EVENT_LOOP,
      admission: ADMISSION,
      pool: scenario.pools.map((_, i) => poolResource(scenario, i)),
      connect: scenario.pools.map((_, i) => connectResource(scenario, i)),
      lock: scenario.locks.map((_, i) => lockResource(scenario, i)),
      server: scenario.servers.map((_, i) => serverResource(scenario, i)),
    };
    const numberOf = (resource: string): number => queues.findIndex((queue) => queue.resource === resource);
    this.queues = {
      loop: numberOf(EVENT_LOOP),
      admission: numberOf(ADMISSION),
      pool: this.names.pool.map(numberOf),
      connect: this.names.connect.map(numberOf),
      lock: this.names.lock.map(numberOf),
      server: this.names.server.map(numberOf),
    };
    this.replicas = scenario.replicas.map((_, index) => ({
      index,
      loop: new Servers(1),
      admission: scenario.admission ? new Slots(this.events, scenario.admission.slots) : null,
      pools: scenario.pools.map((pool) => ({
        slots: new Slots(this.events, pool.size),
        gate: new Servers(pool.handshakes),
        handshaking: 0,
        idle: [],
      })),
    }));
  }

  /** End of the last load step. */
  get endNs(): number {
    return this.stepStartsNs[this.stepStartsNs.length - 1];
  }

  row(lock: number, key: number): Row {
    let row = this.#rows[lock].get(key);
    if (!row) {
      row = { slots: new Slots(this.events, this.scenario.locks[lock].capacity), holders: new Set() };
      this.#rows[lock].set(key, row);
    }
    return row;
  }

  /** @returns waiters and busy slots integrated over time, by resource. */
  gauges(): Map<string, { waitingIntegral: number; busyIntegral: number }> {
    const gauges = new Map<string, { waitingIntegral: number; busyIntegral: number }>();
    const add = (resource: string, slots: Slots): void => {
      slots.gauge();
      const sum = gauges.get(resource) ?? {
        waitingIntegral: 0,
        busyIntegral: 0,
      };
      sum.waitingIntegral += slots.waitingIntegral;
      sum.busyIntegral += slots.busyIntegral;
      gauges.set(resource, sum);
    };
    for (const replica of this.replicas) {
      if (replica.admission) add(ADMISSION, replica.admission);
      replica.pools.forEach((pool, i) => {
        add(this.names.pool[i], pool.slots);
      });
    }
    this.#rows.forEach((rows, i) => {
      for (const row of rows.values()) add(this.names.lock[i], row.slots);
    });
    return gauges;
  }
}
