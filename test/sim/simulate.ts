import type { Segment } from '@waitfall/instrumentation/conventions';
import { Ledger } from './accounting.ts';
import { type ArrivalHandler, closedArrivals, openArrivals } from './arrivals.ts';
import { EventQueue, Task } from './event-queue.ts';
import { type Duration, draw, Random } from './random.ts';
import {
  ADMISSION,
  type Call,
  connectResource,
  EVENT_LOOP,
  lockResource,
  type Parallel,
  poolResource,
  queuesOf,
  type Scenario,
  type Statement,
  type Step,
  serverResource,
  type Transaction,
} from './scenario.ts';
import { type SimSpan, SpanLog } from './spans.ts';
import { Servers, Slots, type Waiter } from './stations.ts';
import { QueueStats } from './statistics.ts';

export type SimOutcome = 'success' | 'rejected' | 'timeout' | 'error';

/** One request as it happened. */
export interface SimRequest {
  readonly id: number;
  readonly route: number;
  /** Requests that visit the same queues: route, and whether a hot row is locked. */
  readonly visitClass: number;
  readonly replica: number;
  /** Load step of its arrival. */
  readonly step: number;
  readonly arrivalNs: number;
  /** -1 while it has not ended. */
  endNs: number;
  outcome: SimOutcome;
  /** Null where the run does not record. */
  readonly ledger: Ledger | null;
  root: SimSpan | null;
}

export interface Run {
  readonly scenario: Scenario;
  readonly requests: readonly SimRequest[];
  /** In order of start; empty where the run does not record. */
  readonly spans: readonly SimSpan[];
  readonly stats: QueueStats;
  /** Start of each load step, and the end of the last. */
  readonly stepStartsNs: readonly number[];
  /** Waiters and busy slots integrated over time, by resource, of queues with slots. */
  readonly gauges: ReadonlyMap<string, { readonly waitingIntegral: number; readonly busyIntegral: number }>;
  /** When the last event ran. */
  readonly endNs: number;
}

export interface RunOptions {
  /** Spans and ledgers are kept only when true; they double the time a run takes. */
  readonly record: boolean;
  /** Stops at the end of the last step instead of letting the backlog drain. */
  readonly stopAtEnd: boolean;
}

/** A response other than success, thrown by whatever refused or gave up. */
class Failure {
  readonly outcome: SimOutcome;
  constructor(outcome: SimOutcome) {
    this.outcome = outcome;
  }
}

interface Connections {
  readonly slots: Slots;
  readonly gate: Servers;
  handshaking: number;
  /** Times at which idle connections became idle, the latest last. */
  readonly idle: number[];
}

interface Replica {
  readonly index: number;
  readonly loop: Servers;
  readonly admission: Slots | null;
  readonly pools: readonly Connections[];
}

interface Row {
  readonly slots: Slots;
  readonly holders: Set<SimSpan>;
}

/** What a request, or a branch of it, carries along. */
interface Context {
  readonly request: SimRequest;
  readonly replica: Replica;
  readonly parent: SimSpan | null;
  readonly ledger: Ledger | null;
  readonly random: Random;
  readonly task: Task;
  readonly keys: readonly number[];
  /** Pool whose connection is held; -1 outside transactions. */
  readonly pool: number;
  /** Locks of the open transaction. */
  readonly held: Held[];
}

interface Held {
  readonly row: Row;
  readonly queue: number;
  readonly grantedNs: number;
  readonly wait: SimSpan | null;
  readonly statement: SimSpan | null;
}

type Program<T = void> = Generator<void, T, void>;

/** A tail ends at least this long after its response: beyond any clock tolerance, so that it gates nobody. */
const TAIL_MARGIN_NS = 2_000_000;
/** The loop picks up its next callback this long after a pause. */
const AFTER_PAUSE_NS = 1_000;

/** Runs a scenario. The same scenario and options give the same run, to the ns. */
export function simulate(scenario: Scenario, options: RunOptions): Run {
  return new Simulation(scenario, options).run();
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #options: RunOptions;
  readonly #events = new EventQueue();
  readonly #log: SpanLog | null;
  readonly #stats: QueueStats;
  readonly #replicas: Replica[];
  readonly #servers: Servers[];
  readonly #rows: Map<number, Row>[];
  readonly #requests: SimRequest[] = [];
  readonly #pending = new Map<number, { task: Task; root: number }[]>();
  readonly #stepStartsNs: number[] = [0];
  /** Numbers of the queues in the statistics. */
  readonly #queues: {
    readonly loop: number;
    readonly admission: number;
    readonly pool: number[];
    readonly connect: number[];
    readonly lock: number[];
    readonly server: number[];
  };
  readonly #names: {
    readonly pool: string[];
    readonly connect: string[];
    readonly lock: string[];
    readonly server: string[];
  };
  #inFlight = 0;
  #arrived: ((request: SimRequest) => void) | null = null;

  constructor(scenario: Scenario, options: RunOptions) {
    this.#scenario = scenario;
    this.#options = options;
    this.#log = options.record ? new SpanLog() : null;
    let at = 0;
    for (const step of scenario.load.steps) this.#stepStartsNs.push((at += step.durationNs));
    const queues = queuesOf(scenario);
    this.#stats = new QueueStats(queues, scenario.load.steps.length);
    this.#servers = scenario.servers.map((server) => new Servers(server.capacity));
    this.#rows = scenario.locks.map(() => new Map());
    this.#names = {
      pool: scenario.pools.map((_, i) => poolResource(scenario, i)),
      connect: scenario.pools.map((_, i) => connectResource(scenario, i)),
      lock: scenario.locks.map((_, i) => lockResource(scenario, i)),
      server: scenario.servers.map((_, i) => serverResource(scenario, i)),
    };
    const numberOf = (resource: string): number => queues.findIndex((queue) => queue.resource === resource);
    this.#queues = {
      loop: numberOf(EVENT_LOOP),
      admission: numberOf(ADMISSION),
      pool: this.#names.pool.map(numberOf),
      connect: this.#names.connect.map(numberOf),
      lock: this.#names.lock.map(numberOf),
      server: this.#names.server.map(numberOf),
    };
    this.#replicas = scenario.replicas.map((_, index) => ({
      index,
      loop: new Servers(1),
      admission: scenario.admission ? new Slots(this.#events, scenario.admission.slots) : null,
      pools: scenario.pools.map((pool) => ({
        slots: new Slots(this.#events, pool.size),
        gate: new Servers(pool.handshakes),
        handshaking: 0,
        idle: [],
      })),
    }));
  }

  run(): Run {
    const { load } = this.#scenario;
    const end = this.#stepStartsNs[this.#stepStartsNs.length - 1];
    const handler: ArrivalHandler = (step) => this.#arrive(step);
    if (load.closed) this.#arrived = closedArrivals(this.#events, this.#scenario, handler);
    else openArrivals(this.#events, this.#scenario, handler);
    for (const replica of this.#replicas) this.#schedulePause(replica, 1, end);
    this.#events.run(this.#options.stopAtEnd ? end : Number.POSITIVE_INFINITY);
    return {
      scenario: this.#scenario,
      requests: this.#requests,
      spans: this.#log?.spans ?? [],
      stats: this.#stats,
      stepStartsNs: this.#stepStartsNs,
      gauges: this.#gauges(),
      endNs: this.#events.now,
    };
  }

  #gauges(): Run['gauges'] {
    const gauges = new Map<string, { waitingIntegral: number; busyIntegral: number }>();
    const add = (resource: string, slots: Slots): void => {
      slots.gauge();
      const sum = gauges.get(resource) ?? { waitingIntegral: 0, busyIntegral: 0 };
      sum.waitingIntegral += slots.waitingIntegral;
      sum.busyIntegral += slots.busyIntegral;
      gauges.set(resource, sum);
    };
    for (const replica of this.#replicas) {
      if (replica.admission) add(ADMISSION, replica.admission);
      replica.pools.forEach((pool, i) => {
        add(this.#names.pool[i], pool.slots);
      });
    }
    this.#rows.forEach((rows, i) => {
      for (const row of rows.values()) add(this.#names.lock[i], row.slots);
    });
    return gauges;
  }

  #schedulePause(replica: Replica, n: number, end: number): void {
    const { pauses, seed } = this.#scenario;
    if (!pauses) return;
    const random = new Random(seed, 7, replica.index, n);
    this.#events.at(this.#events.now + Math.round(pauses.everyNs * random.between(0.7, 1.3)), {
      run: () => {
        const length = draw(random, pauses.length);
        const start = replica.loop.enter(this.#events.now, length + AFTER_PAUSE_NS);
        this.#stats.addBusy(this.#queues.loop, length);
        if (this.#log) {
          const span = this.#log.open(null, -1, 'pause', replica.index, start, EVENT_LOOP);
          span.endNs = start + length;
        }
        if (this.#events.now < end || this.#inFlight > 0) this.#schedulePause(replica, n + 1, end);
      },
    });
  }

  #arrive(step: number): number {
    const { seed, routes, locks, replicas } = this.#scenario;
    const id = this.#requests.length;
    const random = new Random(seed, 1, id);
    const route = random.weighted(routes.map((r) => r.weight));
    const replica = this.#replicas[random.weighted(replicas)];
    let hot = 0;
    const keys = locks.map((lock) => {
      const toHot = random.chance(lock.hotShare);
      if (toHot) hot = 1;
      return toHot ? random.below(lock.hotKeys) : lock.hotKeys + random.below(lock.coldKeys);
    });
    const request: SimRequest = {
      id,
      route,
      visitClass: route * 2 + hot,
      replica: replica.index,
      step,
      arrivalNs: this.#events.now,
      endNs: -1,
      outcome: 'success',
      ledger: this.#log ? new Ledger() : null,
      root:
        this.#log?.open(null, id, 'root', replica.index, this.#events.now, '', routes[route].name) ?? null,
    };
    this.#requests.push(request);
    this.#inFlight++;
    new Task((task) =>
      this.#serve({
        request,
        replica,
        parent: request.root,
        ledger: request.ledger,
        random,
        task,
        keys,
        pool: -1,
        held: [],
      }),
    ).run();
    return id;
  }

  /** A request from its arrival at the process to its last byte. */
  *#serve(context: Context): Program {
    const { request, replica } = context;
    const { cpu, routes } = this.#scenario;
    yield* this.#turn(context, cpu.receive);
    let admitted: { grantedNs: number; wait: SimSpan | null } | null = null;
    try {
      admitted = yield* this.#admit(context);
      const handler = this.#log?.open(
        request.root,
        request.id,
        'handler',
        replica.index,
        this.#events.now,
        '',
        routes[request.route].name,
      );
      const inner: Context = handler ? { ...context, parent: handler } : context;
      try {
        yield* this.#steps(inner, routes[request.route].steps);
        yield* this.#turn(inner, cpu.respond);
      } finally {
        if (handler) handler.endNs = this.#events.now;
      }
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      request.outcome = error.outcome;
    }
    const now = this.#events.now;
    request.endNs = now;
    if (request.root) {
      request.root.endNs = now;
      request.root.failed = request.outcome !== 'success';
    }
    if (admitted && replica.admission) {
      this.#stats.addHold(this.#queues.admission, request.step, now - admitted.grantedNs);
      if (admitted.wait) admitted.wait.holdNs = now - admitted.wait.endNs;
      replica.admission.release();
    }
    this.#inFlight--;
    for (const tail of this.#pending.get(request.id) ?? []) this.#events.at(now + TAIL_MARGIN_NS, tail.task);
    this.#pending.delete(request.id);
    this.#arrived?.(request);
  }

  *#admit(context: Context): Program<{ grantedNs: number; wait: SimSpan | null } | null> {
    const { admission } = this.#scenario;
    const slots = context.replica.admission;
    if (!admission || !slots) return null;
    const queue = this.#queues.admission;
    const now = this.#events.now;
    const span = this.#openWait(context, 'admission', ADMISSION, slots);
    if (slots.tryTake()) {
      this.#stats.addWait(queue, context.request.step, 0);
      return { grantedNs: now, wait: span };
    }
    if (admission.queue !== null && slots.waiting >= admission.queue) {
      this.#stats.addLoss(queue, context.request.step);
      if (span) span.outcome = 'rejected';
      throw new Failure('rejected');
    }
    yield* this.#waitFor(context, slots, admission.timeoutNs, queue, span, 'admission_wait');
    const grantedNs = this.#events.now;
    yield* this.#turn(context, this.#scenario.cpu.resume);
    return { grantedNs, wait: span };
  }

  #openWait(
    context: Context,
    role: 'admission' | 'pool' | 'lock',
    resource: string,
    slots: Slots,
    parent: SimSpan | null = context.parent,
  ): SimSpan | null {
    if (!this.#log) return null;
    const span = this.#log.open(
      parent,
      context.request.id,
      role,
      context.replica.index,
      this.#events.now,
      resource,
    );
    span.capacity = slots.capacity;
    span.inUse = slots.inUse;
    span.queueDepth = slots.waiting;
    return span;
  }

  /** Waits in a queue of slots; a timeout is a failure of the request, after the callback that reports it. */
  *#waitFor(
    context: Context,
    slots: Slots,
    timeoutNs: number | null,
    queue: number,
    span: SimSpan | null,
    segment: Segment,
  ): Program {
    const since = this.#events.now;
    const waiter: Waiter = slots.join(context.task, timeoutNs);
    yield;
    const now = this.#events.now;
    if (span) span.endNs = now;
    context.ledger?.add(segment, now - since);
    if (waiter.state === 'timeout') {
      this.#stats.addLoss(queue, context.request.step);
      if (span) span.outcome = 'timeout';
      yield* this.#turn(context, this.#scenario.cpu.resume);
      throw new Failure('timeout');
    }
    this.#stats.addWait(queue, context.request.step, now - since);
  }

  /**
   * One turn of the event loop: waits until the loop gets to this callback, then runs it. Where the scenario gives it
   * no CPU at all there is no turn. @returns its start.
   */
  *#turn(context: Context, cost: Duration, waitParent: SimSpan | null = context.parent): Program<number> {
    const now = this.#events.now;
    if (cost.meanNs === 0) return now;
    const ns = draw(context.random, cost);
    const start = context.replica.loop.enter(now, ns);
    const end = start + ns;
    this.#stats.addWait(this.#queues.loop, context.request.step, start - now);
    this.#stats.addHold(this.#queues.loop, context.request.step, ns);
    if (this.#log) {
      const { request, replica } = context;
      if (start > now) {
        const wait = this.#log.open(waitParent, request.id, 'loop', replica.index, now, EVENT_LOOP);
        wait.capacity = 1;
        wait.endNs = start;
        context.ledger?.add('eventloop_wait', start - now);
      }
      if (ns > 0) {
        const work = this.#log.open(context.parent, request.id, 'work', replica.index, start, EVENT_LOOP);
        work.endNs = end;
        context.ledger?.add('work', ns);
      }
    }
    if (end > now) {
      this.#events.at(end, context.task);
      yield;
    }
    return start;
  }

  *#steps(context: Context, steps: readonly Step[]): Program {
    for (const step of steps) {
      if (step.do === 'cpu') yield* this.#turn(context, step.cost);
      else if (step.do === 'statement') yield* this.#statement(context, step);
      else if (step.do === 'transaction') yield* this.#transaction(context, step);
      else if (step.do === 'call') yield* this.#call(context, step);
      else if (step.do === 'parallel') yield* this.#parallel(context, step);
      else this.#tail(context, step.steps);
    }
  }

  *#transaction(context: Context, step: Transaction): Program {
    const { pools, cpu } = this.#scenario;
    const pool = pools[step.pool];
    const { slots, idle } = context.replica.pools[step.pool];
    const queue = this.#queues.pool[step.pool];
    const acquire = this.#openWrapper(context, 'acquire', step.pool);
    const wait = this.#openWait(context, 'pool', this.#names.pool[step.pool], slots, acquire);
    const waiting: Context = acquire ? { ...context, parent: acquire } : context;
    let immediate = slots.tryTake();
    try {
      if (immediate) this.#stats.addWait(queue, context.request.step, 0);
      else yield* this.#waitFor(waiting, slots, pool.acquireTimeoutNs, queue, wait, 'pool_wait');
    } catch (error) {
      if (acquire) {
        acquire.endNs = this.#events.now;
        acquire.failed = true;
      }
      throw error;
    }
    const grantedNs = this.#events.now;
    const holding: Context = pool.kind === 'pg' ? { ...context, pool: step.pool, held: [] } : context;
    try {
      if (pool.kind === 'pg' && !this.#takeIdle(idle, pool.idleTimeoutNs)) {
        yield* this.#connect(waiting, step.pool);
        immediate = false;
      }
      if (!immediate) {
        const start = yield* this.#turn(context, cpu.resume, acquire);
        if (acquire) acquire.endNs = start;
      }
      yield* this.#steps(holding, step.body);
    } finally {
      if (pool.kind === 'pg') this.#releaseLocks(holding);
      const now = this.#events.now;
      this.#stats.addHold(queue, context.request.step, now - grantedNs);
      if (wait) wait.holdNs = now - grantedNs;
      if (pool.kind === 'pg' && !context.random.chance(pool.churn)) idle.push(now);
      slots.release();
    }
  }

  #openWrapper(context: Context, role: 'acquire', pool: number): SimSpan | null {
    if (!this.#log) return null;
    const { request, replica, parent } = context;
    const resource = this.#names.pool[pool];
    return this.#log.open(parent, request.id, role, replica.index, this.#events.now, resource, '', '', pool);
  }

  #takeIdle(idle: number[], timeoutNs: number | null): boolean {
    if (timeoutNs !== null) {
      let expired = 0;
      while (expired < idle.length && this.#events.now - idle[expired] > timeoutNs) expired++;
      if (expired > 0) idle.splice(0, expired);
    }
    return idle.pop() !== undefined;
  }

  *#connect(context: Context, poolIndex: number): Program {
    const pool = this.#scenario.pools[poolIndex];
    const connections = context.replica.pools[poolIndex];
    const queue = this.#queues.connect[poolIndex];
    const now = this.#events.now;
    const ns = this.#cost(context, pool.handshake);
    const start = connections.gate.enter(now, ns);
    const end = start + ns;
    this.#stats.addWait(queue, context.request.step, start - now);
    this.#stats.addHold(queue, context.request.step, ns);
    if (this.#log) {
      const { request, replica, parent } = context;
      const resource = this.#names.connect[poolIndex];
      const span = this.#log.open(
        parent,
        request.id,
        'connect',
        replica.index,
        now,
        resource,
        '',
        '',
        poolIndex,
      );
      span.endNs = end;
      span.capacity = pool.handshakesStated ? pool.handshakes : null;
      span.inUse = Math.min(connections.handshaking, pool.handshakes);
      span.queueDepth = Math.max(0, connections.handshaking - pool.handshakes);
    }
    connections.handshaking++;
    this.#events.at(end, context.task);
    yield;
    connections.handshaking--;
    context.ledger?.add('connection_wait', end - now);
  }

  *#statement(context: Context, step: Statement): Program {
    const { request, replica } = context;
    const { server } = this.#scenario.pools[context.pool];
    const span =
      this.#log?.open(
        context.parent,
        request.id,
        'statement',
        replica.index,
        this.#events.now,
        this.#names.server[server],
        step.verb,
        step.table,
        server,
      ) ?? null;
    if (step.lock !== undefined) yield* this.#lock(context, step.lock, span);
    yield* this.#service(context, server, step.cost);
    if (step.verb === 'COMMIT') this.#releaseLocks(context);
    const start = yield* this.#turn(context, this.#scenario.cpu.callback, span);
    if (span) span.endNs = start;
  }

  /** Queue and service at a remote server, up to its reply. */
  *#service(context: Context, server: number, cost: Duration): Program {
    const now = this.#events.now;
    const { end } = this.#reply(context, server, cost, Number.POSITIVE_INFINITY);
    this.#events.at(end, context.task);
    yield;
    context.ledger?.add('downstream', end - now);
  }

  /** @returns when the server starts and when it has answered a call that arrives now. */
  #reply(context: Context, server: number, cost: Duration, giveUpNs: number): { start: number; end: number } {
    const now = this.#events.now;
    const { slowdownPerCall } = this.#scenario.servers[server];
    const busy = slowdownPerCall > 0 ? this.#servers[server].busy(now) : 0;
    const ns = Math.round(this.#cost(context, cost) * (1 + slowdownPerCall * busy));
    const start = this.#servers[server].enter(now, ns);
    const queue = this.#queues.server[server];
    this.#stats.addWait(queue, context.request.step, Math.min(start, giveUpNs) - now);
    this.#stats.addHold(queue, context.request.step, ns);
    return { start, end: start + ns };
  }

  /** A draw of a service time, with the drift of the run applied. */
  #cost(context: Context, cost: Duration): number {
    const { driftOverRun } = this.#scenario;
    const ns = draw(context.random, cost);
    if (driftOverRun === 0) return ns;
    const end = this.#stepStartsNs[this.#stepStartsNs.length - 1];
    return Math.round(ns * (1 + driftOverRun * Math.min(1, this.#events.now / end)));
  }

  *#lock(context: Context, lock: number, statement: SimSpan | null): Program {
    const key = context.keys[lock];
    let row = this.#rows[lock].get(key);
    if (!row) {
      row = { slots: new Slots(this.#events, this.#scenario.locks[lock].capacity), holders: new Set() };
      this.#rows[lock].set(key, row);
    }
    const queue = this.#queues.lock[lock];
    const since = this.#events.now;
    const wait = this.#openWait(context, 'lock', this.#names.lock[lock], row.slots, statement);
    if (wait) {
      wait.key = `${this.#scenario.locks[lock].relation}:${key}`;
      if (row.holders.size > 0) wait.blockedBy = [...row.holders];
    }
    if (row.slots.tryTake()) this.#stats.addWait(queue, context.request.step, 0);
    else {
      row.slots.join(context.task, null);
      yield;
      context.ledger?.add('lock_wait', this.#events.now - since);
      this.#stats.addWait(queue, context.request.step, this.#events.now - since);
      if (wait) wait.endNs = this.#events.now;
    }
    if (statement) row.holders.add(statement);
    context.held.push({ row, queue, grantedNs: this.#events.now, wait, statement });
  }

  #releaseLocks(context: Context): void {
    for (const { row, queue, grantedNs, wait, statement } of context.held.splice(0)) {
      const ns = this.#events.now - grantedNs;
      this.#stats.addHold(queue, context.request.step, ns);
      if (wait) wait.holdNs = ns;
      if (statement) row.holders.delete(statement);
      row.slots.release();
    }
  }

  *#call(context: Context, step: Call): Program {
    if (step.agent === undefined) return yield* this.#attempts(context, step);
    const { agent, ...call } = step;
    yield* this.#transaction(context, { do: 'transaction', pool: agent, body: [call] });
  }

  *#attempts(context: Context, step: Call): Program {
    for (let left = step.retries ?? 0; ; left--) {
      if (yield* this.#attempt(context, step)) return;
      if (left === 0) throw new Failure('error');
    }
  }

  /** @returns whether the call succeeded. */
  *#attempt(context: Context, step: Call): Program<boolean> {
    const { request, replica } = context;
    const now = this.#events.now;
    const { server, operation } = step;
    const giveUp = now + (step.timeoutNs ?? Number.POSITIVE_INFINITY);
    const reply = this.#reply(context, server, step.cost, giveUp);
    const end = Math.min(reply.end, giveUp);
    const failed =
      reply.end > giveUp || (step.failures !== undefined && context.random.chance(step.failures));
    const span = this.#log?.open(
      context.parent,
      request.id,
      'call',
      replica.index,
      now,
      this.#names.server[server],
      operation,
      '',
      server,
    );
    if (span) {
      span.failed = failed;
      span.servedFromNs = reply.start;
      span.servedToNs = reply.end;
    }
    this.#events.at(end, context.task);
    yield;
    context.ledger?.add('downstream', end - now);
    const start = yield* this.#turn(context, this.#scenario.cpu.callback, span ?? null);
    if (span) span.endNs = start;
    return !failed;
  }

  /** Starts all branches, waits for the last; only that one's time is the request's. */
  *#parallel(context: Context, step: Parallel): Program {
    const { request, replica, task } = context;
    const fork = this.#events.now;
    const seed = context.random.below(2 ** 32);
    let open = step.branches.length;
    let waiting = false;
    let failure: Failure | null = null;
    let last: { endNs: number; ledger: Ledger | null } = { endNs: -1, ledger: null };
    const simulation = this;
    step.branches.forEach((steps, i) => {
      const span = this.#log?.open(
        context.parent,
        request.id,
        'branch',
        replica.index,
        fork,
        '',
        `branch ${i + 1}`,
      );
      const ledger = context.ledger ? new Ledger() : null;
      new Task(function* (own): Program {
        const branch: Context = {
          ...context,
          parent: span ?? null,
          ledger,
          random: new Random(seed, i),
          task: own,
          held: [],
        };
        try {
          yield* simulation.#steps(branch, steps);
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          failure = error;
        }
        const endNs = simulation.#events.now;
        if (span) span.endNs = endNs;
        if (endNs > last.endNs) last = { endNs, ledger };
        open--;
        if (open === 0 && waiting) task.run();
      }).run();
    });
    if (open > 0) {
      waiting = true;
      yield;
    }
    if (last.ledger) context.ledger?.addAll(last.ledger);
    if (failure) throw failure;
  }

  /** Work that goes on by itself; its span is closed some time after the response's. */
  #tail(context: Context, steps: readonly Step[]): void {
    const { request, replica } = context;
    const simulation = this;
    const span = this.#log?.open(
      context.parent,
      request.id,
      'tail',
      replica.index,
      this.#events.now,
      '',
      'flush',
    );
    new Task(function* (own): Program {
      const tail: Context = {
        ...context,
        parent: span ?? null,
        ledger: null,
        random: new Random(simulation.#scenario.seed, 3, request.id),
        task: own,
        held: [],
      };
      try {
        yield* simulation.#steps(tail, steps);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
      }
      const earliest = request.endNs + TAIL_MARGIN_NS;
      if (request.endNs < 0) {
        const tails = simulation.#pending.get(request.id) ?? [];
        tails.push({ task: own, root: request.id });
        simulation.#pending.set(request.id, tails);
        yield;
      } else if (simulation.#events.now < earliest) {
        simulation.#events.at(earliest, own);
        yield;
      }
      if (span) span.endNs = simulation.#events.now;
    }).run();
  }
}
