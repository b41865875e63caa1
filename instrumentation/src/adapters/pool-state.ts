import { livePools } from './names.ts';

/** What is in a pool now, by its own count. */
export interface PoolState {
  readonly used: number;
  /** Undefined where the library does not tell. */
  readonly idle: number | undefined;
  /** Undefined: no limit. */
  readonly max: number | undefined;
  readonly pending: number;
}

const readers = new WeakMap<object, () => PoolState>();

/** Says how the state of a pool is read, once it has its name. */
export function tellState(pool: object, read: () => PoolState): void {
  if (!readers.has(pool)) readers.set(pool, read);
}

/** @returns the adapted pools that are open, by resource name, with what is in them. */
export function* poolStates(): Generator<[resource: string, state: PoolState]> {
  for (const [resource, pool] of livePools()) {
    const state = readers.get(pool)?.();
    if (state !== undefined) yield [resource, state];
  }
}
