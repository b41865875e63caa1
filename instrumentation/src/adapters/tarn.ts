import { now } from '../core/clock.ts';
import { wrapMethod } from '../core/patch.ts';
import { makingForPool } from '../core/pooled.ts';
import { noteBorn, takeBirth } from './births.ts';
import { freeName, resourceOf } from './names.ts';
import { type PoolState, tellState } from './pool-state.ts';
import { quietly } from './settle.ts';
import { arrivalAt, releaseSlot, SlotWait } from './slot-wait.ts';
import type { AdapterSwitch } from './switch.ts';

/** What is used of `tarn`'s pool. */
interface TarnPool {
  readonly max: number;
  readonly used: readonly unknown[];
  readonly free: readonly unknown[];
  readonly pendingAcquires: readonly unknown[];
}

/** What runs in a pool now, by the number tarn gives each operation. */
class Operations {
  readonly waits = new Map<number, SlotWait>();
  readonly creations = new Map<number, number>();
  /** When a resource was picked for a waiter: its validation is part of the hold. */
  readonly pickedMs = new Map<unknown, number>();
}

const running = new WeakMap<TarnPool, Operations>();

/** Patches the pool of tarn, and so of knex and objection. @returns whether anything was patched. */
export function patchTarn(Pool: { prototype: object }, on: AdapterSwitch): boolean {
  wrapMethod(Pool.prototype, '_validateResource', (inner) => {
    return function _validateResource(this: TarnPool, ...args: [unknown]) {
      if (on.adapters) operationsOf(this).pickedMs.set(args[0], now());
      return inner().apply(this, args);
    };
  });
  wrapMethod(Pool.prototype, '_create', (inner) => {
    return function _create(this: TarnPool, ...args: unknown[]) {
      return on.adapters ? makingForPool(inner(), this, args) : inner().apply(this, args);
    };
  });
  return wrapMethod(Pool.prototype, '_executeEventHandlers', (inner) => {
    return function _executeEventHandlers(this: TarnPool, ...args: [string, number, unknown]) {
      if (on.adapters) quietly(() => note(this, ...args));
      return inner().apply(this, args);
    };
  });
}

/** tarn tells its listeners of every step; this runs before them, in the context of the step. */
function note(pool: TarnPool, event: string, first: unknown, second: unknown): void {
  const operations = operationsOf(pool);
  const id = first as number;
  switch (event) {
    case 'acquireRequest': {
      const { max, used, free, pendingAcquires } = pool;
      const resource = resourceOf(pool, 'tarn-pool', undefined);
      tellState(pool, () => stateOf(pool));
      const arrival = arrivalAt(resource, max, used.length, free.length, pendingAcquires.length);
      operations.waits.set(id, new SlotWait(pool, arrival));
      break;
    }
    case 'acquireSuccess':
      operations.waits.get(id)?.got(second, takeBirth(second), operations.pickedMs.get(second));
      operations.waits.delete(id);
      operations.pickedMs.delete(second);
      break;
    case 'acquireFail':
      operations.waits.get(id)?.failed(second);
      operations.waits.delete(id);
      break;
    case 'release':
      releaseSlot(pool, first);
      break;
    case 'createRequest':
      operations.creations.set(id, now());
      break;
    case 'createSuccess':
      noteBorn(second, operations.creations.get(id) ?? now());
      operations.creations.delete(id);
      break;
    case 'createFail':
      operations.creations.delete(id);
      break;
    case 'destroyRequest':
      operations.pickedMs.delete(second);
      releaseSlot(pool, second);
      break;
    case 'poolDestroySuccess':
      freeName(pool);
      break;
  }
}

function stateOf({ max, used, free, pendingAcquires }: TarnPool): PoolState {
  return { max, used: used.length, idle: free.length, pending: pendingAcquires.length };
}

function operationsOf(pool: TarnPool): Operations {
  let operations = running.get(pool);
  if (operations === undefined) running.set(pool, (operations = new Operations()));
  return operations;
}

/** What is used of knex's client. */
interface KnexClient {
  pool?: object;
  config?: { connection?: unknown };
  connectionSettings?: { application_name?: unknown; database?: unknown };
}

/** knex knows what its pool leads to: the pool is named by it. @returns whether anything was patched. */
export function patchKnex(Client: { prototype: object }): boolean {
  return wrapMethod(Client.prototype, 'initializePool', (inner) => {
    return function initializePool(this: KnexClient, ...args: unknown[]) {
      const result = inner().apply(this, args);
      quietly(() => {
        if (this.pool !== undefined) resourceOf(this.pool, 'knex-pool', knexName(this));
      });
      return result;
    };
  });
}

function knexName(client: KnexClient): string | undefined {
  const settings = client.connectionSettings ?? {};
  for (const name of [settings.application_name, settings.database])
    if (typeof name === 'string' && name !== '') return name;
  const url = client.config?.connection;
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const { searchParams, pathname } = new URL(url);
  return searchParams.get('application_name') ?? decodeURIComponent(pathname.slice(1));
}
