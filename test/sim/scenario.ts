import type { Duration } from './random.ts';

/** A statement of a transaction, or one alone. */
export interface Statement {
  readonly do: 'statement';
  readonly verb: 'BEGIN' | 'SELECT' | 'INSERT' | 'UPDATE' | 'COMMIT';
  readonly table: string;
  /** Service at the database. */
  readonly cost: Duration;
  /** Index into {@link Scenario.locks}: the row is locked first and held to COMMIT. */
  readonly lock?: number;
}

export interface Transaction {
  readonly do: 'transaction';
  /** Index into {@link Scenario.pools}. */
  readonly pool: number;
  /** Statements, or other steps done while the connection is held. BEGIN and COMMIT are ordinary statements. */
  readonly body: readonly Step[];
}

/** A remote call; its server's capacity is known to nobody but the simulator. */
export interface Call {
  readonly do: 'call';
  /** Index into {@link Scenario.servers}. */
  readonly server: number;
  readonly operation: string;
  readonly cost: Duration;
  /** The caller gives up after this long; the server does not notice. */
  readonly timeoutNs?: number;
  /** Further attempts after a timeout or failure. */
  readonly retries?: number;
  /** Share of calls that fail after their service. */
  readonly failures?: number;
  /** Index into {@link Scenario.pools}: a socket of this agent is taken for the call. */
  readonly agent?: number;
}

/** CPU on the event loop, in a turn of its own. */
export interface Cpu {
  readonly do: 'cpu';
  readonly cost: Duration;
}

/** Branches started together and awaited together, each in a span of its own. */
export interface Parallel {
  readonly do: 'parallel';
  readonly branches: readonly (readonly Step[])[];
}

/** Work started and not awaited; it always outlives the response. */
export interface Tail {
  readonly do: 'tail';
  readonly steps: readonly Step[];
}

export type Step = Statement | Transaction | Call | Cpu | Parallel | Tail;

export interface Route {
  readonly name: string;
  readonly weight: number;
  readonly steps: readonly Step[];
}

export interface Pool {
  readonly name: string;
  /** A pg pool hands out connections and may have to establish them; an agent hands out sockets that are always there. */
  readonly kind: 'pg' | 'agent';
  /** Slots in each replica. */
  readonly size: number;
  /** Index into {@link Scenario.servers}. */
  readonly server: number;
  readonly acquireTimeoutNs: number | null;
  /** Share of releases after which the connection is closed (maxUses, broken connections). */
  readonly churn: number;
  /** Idle connections older than this are closed. */
  readonly idleTimeoutNs: number | null;
  readonly handshake: Duration;
  /** Handshakes at a time in each replica. */
  readonly handshakes: number;
  /** Whether the export states that limit. */
  readonly handshakesStated: boolean;
}

export interface Server {
  readonly address: string;
  readonly port: number;
  readonly kind: 'postgres' | 'http';
  readonly capacity: number;
  /** Service grows by this share for each call in service beyond the first (contention on the server). */
  readonly slowdownPerCall: number;
}

export interface Lock {
  readonly relation: string;
  /** Holders at a time; 1, or 2 when relieved. */
  readonly capacity: number;
  /** Share of visits that go to the hot keys. */
  readonly hotShare: number;
  readonly hotKeys: number;
  readonly coldKeys: number;
}

export interface LoadStep {
  readonly arrivalsPerSecond: number;
  readonly durationNs: number;
  readonly phase: 'warmup' | 'ramp' | 'steady' | 'overload' | 'recovery';
  /** Closed loop only: users in this step. */
  readonly users?: number;
}

export interface Load {
  readonly steps: readonly LoadStep[];
  readonly arrivals: 'poisson' | 'even' | 'bursty';
  /** Mean size of a burst. */
  readonly burst: number;
  /** Each user sends, awaits the answer and thinks; null: open loop. */
  readonly closed: { readonly think: Duration } | null;
}

export interface Admission {
  readonly slots: number;
  /** Waiters allowed; 0: a semaphore that rejects at once; null: no limit. */
  readonly queue: number | null;
  readonly timeoutNs: number | null;
}

/** Everything that fixes a run. */
export interface Scenario {
  readonly seed: number;
  readonly service: string;
  /** Share of arrivals for each process; they need not be equal. */
  readonly replicas: readonly number[];
  readonly admission: Admission | null;
  /** CPU of the first turn (parse, routing), of each reply's callback, of going on after a wait, and of the response. */
  readonly cpu: {
    readonly receive: Duration;
    readonly callback: Duration;
    readonly resume: Duration;
    readonly respond: Duration;
  };
  /** Stop-the-world pauses of each process. */
  readonly pauses: { readonly everyNs: number; readonly length: Duration } | null;
  readonly pools: readonly Pool[];
  readonly servers: readonly Server[];
  readonly locks: readonly Lock[];
  readonly routes: readonly Route[];
  readonly load: Load;
  /** Every service time grows linearly by this factor over the run (data growth); 0: none. */
  readonly driftOverRun: number;
}

/** Resource names, spelt as the instrumentation spells them. */
export const ADMISSION = 'http.server';
export const EVENT_LOOP = 'eventloop';

export function poolResource(scenario: Scenario, pool: number): string {
  const { name, kind, server } = scenario.pools[pool];
  return kind === 'pg' ? `pg-pool:${name}` : `http-agent:${serverResource(scenario, server)}`;
}

export function connectResource(scenario: Scenario, pool: number): string {
  return `connect:${poolResource(scenario, pool)}`;
}

export function lockResource(scenario: Scenario, lock: number): string {
  return `lock:${scenario.locks[lock].relation}`;
}

export function serverResource(scenario: Scenario, server: number): string {
  return `${scenario.servers[server].address}:${scenario.servers[server].port}`;
}

export type QueueKind = 'admission' | 'eventloop' | 'pool' | 'connection' | 'lock' | 'downstream';

/** One queue of a scenario; `index` into the list its kind lives in. */
export interface QueueRef {
  readonly kind: QueueKind;
  readonly resource: string;
  readonly index: number;
}

/** @returns every queue a scenario has, inner to outer. */
export function queuesOf(scenario: Scenario): QueueRef[] {
  const queues: QueueRef[] = [{ kind: 'eventloop', resource: EVENT_LOOP, index: 0 }];
  scenario.servers.forEach((_, index) => {
    queues.push({ kind: 'downstream', resource: serverResource(scenario, index), index });
  });
  scenario.pools.forEach((pool, index) => {
    if (pool.kind === 'pg')
      queues.push({ kind: 'connection', resource: connectResource(scenario, index), index });
  });
  scenario.locks.forEach((_, index) => {
    queues.push({ kind: 'lock', resource: lockResource(scenario, index), index });
  });
  scenario.pools.forEach((_, index) => {
    queues.push({ kind: 'pool', resource: poolResource(scenario, index), index });
  });
  if (scenario.admission) queues.push({ kind: 'admission', resource: ADMISSION, index: 0 });
  return queues;
}
