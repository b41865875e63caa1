import { activeContext } from '../core/active-context.ts';
import { now } from '../core/clock.ts';
import { countTime, emitSegment } from '../core/emit.ts';
import { wrapMethod } from '../core/patch.ts';
import { freeName, resourceOf } from './names.ts';
import { tellState } from './pool-state.ts';
import { quietly, settling } from './settle.ts';
import { releaseSlot, SlotWait } from './slot-wait.ts';
import type { AdapterSwitch } from './switch.ts';

/** What is used of an instance of `postgres`. */
interface Sql {
  readonly options: {
    readonly max: number;
    readonly database?: string;
    readonly host?: readonly string[];
    readonly port?: readonly number[];
    readonly connection?: { readonly application_name?: string };
  };
  unsafe(text: string): Query;
  begin(...args: unknown[]): Promise<unknown>;
  reserve(...args: unknown[]): Promise<Reserved>;
  end(...args: unknown[]): Promise<unknown>;
}

interface Reserved {
  release(): unknown;
}

/** A query; `state` is set when it is sent, to its connection, `active` while it is the one the server answers. */
interface Query {
  readonly constructor: { readonly prototype: object };
  readonly handler: object;
  readonly executed: boolean;
  readonly strings?: readonly string[];
  state: object | null;
  active: boolean;
  reject(error: unknown): unknown;
}

/** The pool's default `application_name`: it names nobody. */
const ANONYMOUS = 'postgres.js';

/** The pool behind one instance; nothing of it is public, so its use is counted here. */
class PostgresPool {
  readonly sql: Sql;
  readonly on: AdapterSwitch;
  readonly address: string;
  waiting = 0;
  busy = 0;

  constructor(sql: Sql, on: AdapterSwitch) {
    this.sql = sql;
    this.on = on;
    this.address = `${sql.options.host?.[0] ?? 'localhost'}:${sql.options.port?.[0] ?? 5432}`;
  }

  begin(): SlotWait {
    const { max, database, connection } = this.sql.options;
    const application = connection?.application_name;
    const name = application !== ANONYMOUS && application ? application : database;
    return new SlotWait(this, {
      resource: resourceOf(this.sql, 'postgres-pool', name),
      capacity: max,
      inUse: Math.min(max, this.busy + this.waiting),
      queueDepth: Math.max(0, this.busy + this.waiting - max),
      found: this.busy + this.waiting >= max ? 'full' : 'idle',
    });
  }
}

/** The pool a query's handler leads to; inside a transaction it leads to the transaction's connection. */
const pools = new WeakMap<object, PostgresPool>();
/** Process id of the server behind a connection when it was last used: another one is a new connection. */
const backends = new WeakMap<object, unknown>();
/** The pool a connection belongs to. */
const owners = new WeakMap<object, PostgresPool>();
const watched = new WeakSet<object>();
/** The transaction whose BEGIN is being called right now. */
let beginning: object | undefined;

/**
 * Patches the package's only export, a function. @returns the function to export in its place; it behaves as
 * the given one.
 */
export function patchPostgres<F extends (...args: never[]) => unknown>(postgres: F, on: AdapterSwitch): F {
  return new Proxy(postgres, {
    apply(target, self, args) {
      const sql = Reflect.apply(target, self, args);
      quietly(() => watchSql(sql as Sql, on));
      return sql;
    },
  });
}

/**
 * Records the waits and holds of `postgres` where its import cannot be intercepted:
 * `const postgres = wrapPostgres(await import('postgres').then((module) => module.default))`. With `register` it
 * is not needed.
 */
export function wrapPostgres<F extends (...args: never[]) => unknown>(postgres: F): F {
  return patchPostgres(postgres, { adapters: true });
}

/** Watches the pool of one instance. */
export function watchSql(sql: Sql, on: AdapterSwitch): void {
  if (watched.has(sql)) return;
  watched.add(sql);
  // A query that is never sent, for what its class and its handler are.
  const probe = sql.unsafe('');
  const pool = new PostgresPool(sql, on);
  pools.set(probe.handler, pool);
  // Which of its connections are open and idle only the library knows.
  tellState(sql, () => ({
    max: sql.options.max,
    used: Math.min(sql.options.max, pool.busy),
    idle: undefined,
    pending: pool.waiting,
  }));
  wrapMethod(probe.constructor.prototype, 'handle', (inner) => {
    return function handle(this: Query, ...args: unknown[]) {
      if (!this.executed) quietly(() => watchQuery(this));
      return inner().apply(this, args);
    };
  });
  watchTransactions(sql, pool);
  watchReserved(sql, pool);
  const { end } = sql;
  sql.end = function (...args) {
    freeName(sql);
    return end.apply(this, args);
  };
}

function watchTransactions(sql: Sql, pool: PostgresPool): void {
  const { begin } = sql;
  sql.begin = function (...args) {
    if (!pool.on.adapters) return begin.apply(this, args);
    const transaction = {};
    const outer = beginning;
    beginning = transaction;
    let result: Promise<unknown>;
    try {
      result = begin.apply(this, args);
    } finally {
      beginning = outer;
    }
    const ended = () => {
      if (busyWith.delete(transaction)) pool.busy--;
      releaseSlot(pool, transaction);
    };
    return settling(result, ended, ended) as Promise<unknown>;
  };
}

const busyWith = new WeakSet<object>();

function watchReserved(sql: Sql, pool: PostgresPool): void {
  const { reserve } = sql;
  sql.reserve = function (...args) {
    const wait = pool.on.adapters ? quietly(() => pool.begin()) : undefined;
    if (wait === undefined) return reserve.apply(this, args);
    pool.waiting++;
    return settling(
      reserve.apply(this, args),
      (reserved) => {
        pool.waiting--;
        pool.busy++;
        wait.got(reserved);
        const { release } = reserved;
        let held = true;
        reserved.release = function () {
          if (held) pool.busy--;
          held = false;
          releaseSlot(pool, reserved);
          return release.call(this);
        };
      },
      (error) => {
        pool.waiting--;
        wait.failed(error);
      },
    ) as Promise<Reserved>;
  };
}

function watchQuery(query: Query): void {
  const pool = pools.get(query.handler);
  if (pool?.on.adapters !== false) new WatchedQuery(query, pool, beginning);
}

/** One query of a pool, seen through the two fields the library sets as it goes. */
class WatchedQuery {
  readonly #query: Query;
  /** Undefined inside a transaction: it has its connection already. */
  readonly #pool: PostgresPool | undefined;
  readonly #transaction: object | undefined;
  readonly #wait: SlotWait | undefined;
  readonly #caller = activeContext();
  readonly #callMs = now();
  #startMs = 0;
  #state: object | null;
  #active = false;
  #isFresh = false;
  #error: unknown = { name: 'AbortError' };
  #stage: 'waiting' | 'running' | 'done' = 'waiting';

  constructor(query: Query, pool: PostgresPool | undefined, transaction: object | undefined) {
    this.#query = query;
    this.#pool = pool;
    this.#transaction = transaction;
    this.#state = query.state;
    this.#wait = pool?.begin();
    if (pool !== undefined) pool.waiting++;
    const { reject } = query;
    query.reject = (error) => {
      this.#error = error;
      return reject(error);
    };
    Object.defineProperties(query, {
      state: {
        get: () => this.#state,
        set: (state) => {
          this.#state = state;
          quietly(() => this.#sent(state));
        },
        configurable: true,
        enumerable: true,
      },
      active: {
        get: () => this.#active,
        set: (active) => {
          this.#active = active;
          quietly(() => (active ? this.#started() : this.#ended()));
        },
        configurable: true,
        enumerable: true,
      },
    });
  }

  #sent(backend: object | null): void {
    // What the library asks on a new connection by itself, for the server's types, makes it no used one.
    if (backend === null || this.#pool === undefined) return;
    owners.set(backend, this.#pool);
    const { pid } = backend as { pid?: unknown };
    this.#isFresh = backends.get(backend) !== pid;
    backends.set(backend, pid);
  }

  #started(): void {
    if (this.#stage !== 'waiting') return;
    this.#stage = 'running';
    this.#startMs = now();
    if (this.#pool === undefined || this.#wait === undefined) return;
    this.#pool.waiting--;
    this.#pool.busy++;
    const holder = this.#transaction ?? this.#query;
    busyWith.add(holder);
    this.#wait.got(holder, this.#isFresh && !this.#wait.foundFull ? this.#callMs : undefined);
  }

  #ended(): void {
    if (this.#stage === 'done') return;
    if (this.#stage === 'running') this.#emitStatement();
    if (this.#pool !== undefined && this.#wait !== undefined) this.#leavePool(this.#pool, this.#wait);
    this.#stage = 'done';
    for (const [name, value] of [
      ['state', this.#state],
      ['active', this.#active],
    ] as const) {
      Object.defineProperty(this.#query, name, {
        value,
        configurable: true,
        enumerable: true,
        writable: true,
      });
    }
  }

  #leavePool(pool: PostgresPool, wait: SlotWait): void {
    if (this.#stage === 'waiting') {
      pool.waiting--;
      wait.failed(this.#error);
    } else if (this.#transaction === undefined) {
      // A transaction keeps the connection until its end.
      busyWith.delete(this.#query);
      pool.busy--;
      releaseSlot(pool, this.#query);
    }
  }

  /** Nobody else records the statements of this library. */
  #emitStatement(): void {
    const pool = this.#state === null ? undefined : owners.get(this.#state);
    if (pool === undefined || !pool.on.adapters) return;
    const endMs = now();
    const operation = /^\s*([A-Za-z]+)/.exec(this.#query.strings?.[0] ?? '')?.[1].toUpperCase();
    countTime(this.#caller, 'downstream', this.#startMs, endMs);
    emitSegment({
      segment: 'downstream',
      resource: pool.address,
      name: `postgres.query${operation === undefined ? '' : `:${operation}`}`,
      parent: this.#caller,
      startMs: this.#startMs,
      endMs,
      isVisit: true,
      attributes: {
        'db.system.name': 'postgresql',
        'db.namespace': pool.sql.options.database,
        'db.operation.name': operation,
      },
    });
  }
}
