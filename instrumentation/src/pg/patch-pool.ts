import { activeContext, runIn } from '../core/active-context.ts';
import { wrapMethod } from '../core/patch.ts';
import { makingForPool } from '../core/pooled.ts';
import { setDispatching } from './pool-query.ts';
import { abortWaiters, PoolWait, releaseSlot } from './pool-wait.ts';
import type { PgClient, PgPool, PoolCallback } from './types.ts';

const kWait = Symbol('waitfall.pool_wait');

interface PendingItem {
  [kWait]?: PoolWait;
}

/** Whether pools are recorded; wrappers stay in place when it is switched off and only pass on. */
export interface PoolSwitch {
  pool: boolean;
}

/** The waiter whose call runs right now: a pool opens a connection for it within the call. */
let calling: PoolWait | undefined;

/** A `pool.query` that returns a promise runs right now: the next `connect` is its own. */
let isQuerying = false;

/** Patches the prototype of a `pg-pool` class. @returns whether anything was patched. */
export function patchPool(Pool: { prototype: object }, on: PoolSwitch): boolean {
  const prototype: { connect?: unknown } = Pool.prototype;
  const patched = wrapMethod(prototype, 'connect', (inner) => {
    return function connect(this: PgPool, ...args: [PoolCallback?]) {
      const isOfQuery = isQuerying;
      isQuerying = false;
      const wait = on.pool && this.ending !== true ? begin(this) : undefined;
      if (wait === undefined) return inner().apply(this, args);
      const [callback] = args;
      return typeof callback === 'function'
        ? callPool(this, inner(), wait, callback, isOfQuery)
        : promised(this, inner(), wait);
    };
  });
  const ownConnect = prototype.connect;
  wrapMethod(prototype, 'query', (inner) => {
    return function query(this: PgPool, ...args: unknown[]) {
      // A `connect` that somebody has put around ours may run anything in its callback.
      isQuerying = this.connect === ownConnect && !args.some((argument) => typeof argument === 'function');
      try {
        return inner().apply(this, args);
      } finally {
        isQuerying = false;
      }
    };
  });
  wrapMethod(prototype, 'newClient', (inner) => {
    return function newClient(this: PgPool, item: PendingItem, ...rest: unknown[]) {
      const wait = item?.[kWait] ?? calling;
      if (wait === calling) calling = undefined;
      wait?.connecting();
      return makingForPool(inner(), this, [item, ...rest]);
    };
  });
  wrapMethod(prototype, '_release', (inner) => {
    return function _release(this: PgPool, client: PgClient, ...rest: unknown[]) {
      releaseSlot(client);
      return inner().call(this, client, ...rest);
    };
  });
  wrapMethod(prototype, '_remove', (inner) => {
    return function _remove(this: PgPool, client: PgClient, ...rest: unknown[]) {
      releaseSlot(client);
      return inner().call(this, client, ...rest);
    };
  });
  wrapMethod(prototype, 'end', (inner) => {
    return function end(this: PgPool, ...args: unknown[]) {
      const result = inner().apply(this, args);
      abortWaiters(this);
      return result;
    };
  });
  return patched;
}

function begin(pool: PgPool): PoolWait | undefined {
  try {
    return new PoolWait(pool);
  } catch {
    return undefined;
  }
}

/** Calls the pool with a callback that records, then continues in the caller's context, not the releaser's. */
function callPool(
  pool: PgPool,
  connect: (...args: unknown[]) => unknown,
  wait: PoolWait,
  callback: PoolCallback,
  isOfQuery = false,
): unknown {
  const settled = function (this: unknown, ...args: Parameters<PoolCallback>) {
    wait.settle(args[0], args[1]);
    if (isOfQuery) setDispatching(true);
    try {
      return wait.isBound || activeContext() === wait.caller
        ? callback.apply(this, args)
        : runIn(wait.caller, callback, this, args);
    } finally {
      if (isOfQuery) setDispatching(false);
    }
  };
  const pendingBefore = pool._pendingQueue?.length ?? 0;
  const outer = calling;
  calling = wait;
  try {
    return connect.call(pool, settled);
  } catch (error) {
    wait.settle(error as Error, undefined);
    throw error;
  } finally {
    calling = outer;
    wait.called();
    const queue = pool._pendingQueue;
    if (queue !== undefined && queue.length > pendingBefore) (queue.at(-1) as PendingItem)[kWait] = wait;
  }
}

/**
 * Promise style: the pool is called with our callback and the promise is ours, shaped like the pool's.
 * Attaching handlers to the pool's own promise would hide an unhandled rejection from the service.
 */
function promised(pool: PgPool, connect: (...args: unknown[]) => unknown, wait: PoolWait): Promise<PgClient> {
  const PromiseClass = pool.Promise ?? Promise;
  let resolve!: (client: PgClient) => void;
  let reject!: (error: Error) => void;
  const result = new PromiseClass<PgClient>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  }).catch((error: unknown) => {
    // As the pool does: the stack leads to the caller instead of the socket.
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  });
  callPool(pool, connect, wait, (error, client) => (error ? reject(error) : resolve(client as PgClient)));
  return result;
}
