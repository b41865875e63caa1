import { activeContext, runIn } from '../core/active-context.ts';
import { wrapMethod } from '../core/patch.ts';
import { freeName, resourceOf } from './names.ts';
import { tellState } from './pool-state.ts';
import { quietly } from './settle.ts';
import { type Arrival, releaseSlot, SlotWait } from './slot-wait.ts';
import type { AdapterSwitch } from './switch.ts';

interface Queue {
  readonly length: number;
  get?(index: number): unknown;
}

/** What is used of mysql2's pool. */
interface MysqlPool {
  readonly config: {
    readonly connectionLimit?: number;
    readonly resetOnRelease?: boolean;
    readonly connectionConfig?: {
      readonly database?: string;
      readonly host?: string;
      readonly port?: number;
    };
  };
  readonly _allConnections: Queue;
  readonly _freeConnections: Queue;
  readonly _connectionQueue: Queue;
  readonly _closed?: boolean;
  readonly _handleSuccessfulRelease?: unknown;
}

interface MysqlConnection {
  readonly _pool?: MysqlPool | null;
  readonly reset?: unknown;
}

type Callback = (error: unknown, connection?: MysqlConnection) => unknown;

/** Waiters by what stands for them in the pool's queue: a broken connection sends them round again. */
const queued = new WeakMap<object, SlotWait>();
/** The pool a connection was taken from; it forgets it when it breaks. */
const poolOf = new WeakMap<object, MysqlPool>();

/** One of the package's classes. */
export interface Mysql2 {
  Pool?: { prototype: object };
  PoolConnection?: { prototype: object };
}

/** Patches a class of mysql2: its pool, which promise pools and clusters use too, or its pooled connection. @returns whether anything was patched. */
export function patchMysql2({ Pool, PoolConnection }: Mysql2, on: AdapterSwitch): boolean {
  if (PoolConnection !== undefined) return patchConnection(PoolConnection.prototype);
  const prototype = ownerOf(Pool?.prototype, 'getConnection');
  if (prototype === undefined) return false;
  for (const back of ['_removeConnection', '_handleSuccessfulRelease']) {
    wrapMethod(prototype, back, (inner) => {
      return function (this: MysqlPool, ...args: [MysqlConnection]) {
        quietly(() => releaseSlot(this, args[0]));
        return inner().apply(this, args);
      };
    });
  }
  wrapMethod(prototype, 'releaseConnection', (inner) => {
    return function releaseConnection(this: MysqlPool, ...args: [MysqlConnection]) {
      quietly(() => {
        if (!isReset(this, args[0])) releaseSlot(this, args[0]);
      });
      return inner().apply(this, args);
    };
  });
  wrapMethod(prototype, 'end', (inner) => {
    return function end(this: MysqlPool, ...args: unknown[]) {
      freeName(this);
      return inner().apply(this, args);
    };
  });
  return wrapMethod(prototype, 'getConnection', (inner) => {
    return function getConnection(this: MysqlPool, ...args: [Callback]) {
      return call(this, inner(), args, on);
    };
  });
}

/** A connection whose reset fails leaves the pool by this way only. */
function patchConnection(prototype: object): boolean {
  return wrapMethod(prototype, 'destroy', (inner) => {
    return function destroy(this: MysqlConnection, ...args: unknown[]) {
      quietly(() => {
        const pool = poolOf.get(this);
        if (pool !== undefined) releaseSlot(pool, this);
      });
      return inner().apply(this, args);
    };
  });
}

function call(
  pool: MysqlPool,
  getConnection: (...args: unknown[]) => unknown,
  args: [Callback],
  on: AdapterSwitch,
): unknown {
  const [callback] = args;
  if (typeof callback !== 'function') return getConnection.apply(pool, args);
  const again = queued.get(callback);
  if (again !== undefined) {
    quietly(() => {
      if (found(pool) === 'room') again.creating();
    });
    return handOn(pool, getConnection, callback, again);
  }
  const wait = on.adapters && pool._closed !== true ? quietly(() => begin(pool)) : undefined;
  if (wait === undefined) return getConnection.apply(pool, args);
  const settled: Callback = function (this: unknown, ...result) {
    quietly(() => settle(pool, wait, result[0], result[1]));
    // The pool calls back from whoever released.
    return activeContext() === wait.caller
      ? callback.apply(this, result)
      : runIn(wait.caller, callback, this, result);
  };
  return handOn(pool, getConnection, settled, wait);
}

function handOn(
  pool: MysqlPool,
  getConnection: (...args: unknown[]) => unknown,
  callback: Callback,
  wait: SlotWait,
): unknown {
  const before = pool._connectionQueue.length;
  const result = getConnection.call(pool, callback);
  quietly(() => {
    const queue = pool._connectionQueue;
    // A tracing channel may have put a function of its own there.
    const last = queue.length > before ? queue.get?.(queue.length - 1) : undefined;
    if (typeof last === 'function') queued.set(last, wait);
  });
  return result;
}

function settle(
  pool: MysqlPool,
  wait: SlotWait,
  error: unknown,
  connection: MysqlConnection | undefined,
): void {
  if (error !== null && error !== undefined) {
    wait.failed(error);
  } else if (connection !== undefined) {
    poolOf.set(connection, pool);
    wait.got(connection);
  }
}

function begin(pool: MysqlPool): SlotWait {
  const { connectionConfig = {}, connectionLimit } = pool.config;
  const { database, host, port } = connectionConfig;
  tellState(pool, () => ({
    max: connectionLimit || undefined,
    used: pool._allConnections.length - pool._freeConnections.length,
    idle: pool._freeConnections.length,
    pending: pool._connectionQueue.length,
  }));
  const arrival: Arrival = {
    resource: resourceOf(pool, 'mysql2-pool', database || `${host ?? 'localhost'}:${port ?? 3306}`),
    // No limit is no queue.
    capacity: connectionLimit || undefined,
    inUse: pool._allConnections.length - pool._freeConnections.length,
    queueDepth: pool._connectionQueue.length,
    found: found(pool),
  };
  return new SlotWait(pool, arrival);
}

function found(pool: MysqlPool): Arrival['found'] {
  if (pool._freeConnections.length > 0) return 'idle';
  const { connectionLimit } = pool.config;
  return !connectionLimit || pool._allConnections.length < connectionLimit ? 'room' : 'full';
}

/** The slot is free only after the session was reset. */
function isReset(pool: MysqlPool, connection: MysqlConnection): boolean {
  return (
    pool.config.resetOnRelease === true &&
    typeof pool._handleSuccessfulRelease === 'function' &&
    typeof connection?.reset === 'function' &&
    Boolean(connection._pool)
  );
}

function ownerOf(prototype: object | undefined, method: string): object | undefined {
  for (let at = prototype; at !== undefined && at !== null; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, method)) return at;
  }
  return undefined;
}
