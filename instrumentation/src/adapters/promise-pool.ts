import { wrapMethod } from '../core/patch.ts';
import { noteBirth, takeBirth } from './births.ts';
import { freeName, resourceOf } from './names.ts';
import { tellState } from './pool-state.ts';
import { quietly, settling, watching } from './settle.ts';
import { arrivalAt, releaseSlot, SlotWait } from './slot-wait.ts';
import type { AdapterSwitch } from './switch.ts';

/** What `generic-pool` and `sequelize-pool` have in common below their different getters. */
interface PromisePool {
  readonly _draining?: boolean;
  _factory: { create: (...args: unknown[]) => unknown };
}

/** Public getters of generic-pool. */
interface GenericPool extends PromisePool {
  readonly max: number;
  readonly borrowed: number;
  readonly available: number;
  readonly pending: number;
}

/** Public getters of sequelize-pool. */
interface SequelizePool extends PromisePool {
  readonly name?: string;
  readonly maxSize: number;
  readonly using: number;
  readonly available: number;
  readonly waiting: number;
}

type PoolClass = { prototype: object };

/** Its queue handles the rejections of all who wait in it. @returns whether anything was patched. */
export function patchGenericPool(Pool: PoolClass, on: AdapterSwitch): boolean {
  return patchPromisePool<GenericPool>(Pool, on, watching, (pool) => {
    const resource = resourceOf(pool, 'generic-pool', undefined);
    tellState(pool, () => ({
      max: pool.max,
      used: pool.borrowed,
      idle: pool.available,
      pending: pool.pending,
    }));
    return new SlotWait(pool, arrivalAt(resource, pool.max, pool.borrowed, pool.available, pool.pending));
  });
}

/** The pool of sequelize. @returns whether anything was patched. */
export function patchSequelizePool(Pool: PoolClass, on: AdapterSwitch): boolean {
  return patchPromisePool<SequelizePool>(Pool, on, settling, (pool) => {
    const resource = resourceOf(pool, 'sequelize-pool', pool.name);
    tellState(pool, () => ({
      max: pool.maxSize,
      used: pool.using,
      idle: pool.available,
      pending: pool.waiting,
    }));
    return new SlotWait(pool, arrivalAt(resource, pool.maxSize, pool.using, pool.available, pool.waiting));
  });
}

function patchPromisePool<P extends PromisePool>(
  { prototype }: PoolClass,
  on: AdapterSwitch,
  follow: typeof settling,
  begin: (pool: P) => SlotWait,
): boolean {
  wrapMethod(prototype, '_createResource', (inner) => {
    return function _createResource(this: P, ...args: unknown[]) {
      const create = () => inner().apply(this, args);
      return on.adapters ? noteBirth(this, create) : create();
    };
  });
  for (const giveBack of ['release', 'destroy']) {
    wrapMethod(prototype, giveBack, (inner) => {
      return function (this: P, ...args: [unknown]) {
        quietly(() => releaseSlot(this, args[0]));
        return inner().apply(this, args);
      };
    });
  }
  wrapMethod(prototype, 'drain', (inner) => {
    return function drain(this: P, ...args: unknown[]) {
      freeName(this);
      return inner().apply(this, args);
    };
  });
  return wrapMethod(prototype, 'acquire', (inner) => {
    return function acquire(this: P, ...args: unknown[]) {
      const wait = on.adapters && this._draining !== true ? quietly(() => begin(this)) : undefined;
      const result = inner().apply(this, args);
      if (wait === undefined) return result;
      return follow(
        result,
        (item) => wait.got(item, takeBirth(item)),
        (error) => wait.failed(error),
      );
    };
  });
}
