import { now } from '../core/clock.ts';
import { makingForPool } from '../core/pooled.ts';

type Create = (...args: unknown[]) => unknown;

interface Creating {
  _factory: { create: Create };
}

/** When each thing was begun to be made that nobody has used yet. */
const births = new WeakMap<object, number>();

/**
 * Runs a pool's own creating method and notes when its factory began to make what. The factory stands behind
 * a stand-in for the length of this synchronous call only: the service's object is not touched.
 */
export function noteBirth(pool: Creating, create: () => unknown): unknown {
  const factory = pool._factory;
  const standIn = Object.create(factory) as { create: Create };
  standIn.create = (...args) => {
    const startMs = now();
    const made = makingForPool(factory.create, factory, args);
    Promise.resolve(made).then(
      (item) => noteBorn(item, startMs),
      () => {},
    );
    return made;
  };
  pool._factory = standIn;
  try {
    return create();
  } finally {
    pool._factory = factory;
  }
}

export function noteBorn(item: unknown, startMs: number): void {
  if (typeof item === 'object' && item !== null) births.set(item, startMs);
}

/** @returns when something was begun to be made, on its first use only. */
export function takeBirth(item: unknown): number | undefined {
  if (typeof item !== 'object' || item === null) return undefined;
  const startMs = births.get(item);
  births.delete(item);
  return startMs;
}
