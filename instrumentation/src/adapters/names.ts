const given = new WeakMap<object, string>();
const resolved = new WeakMap<object, string>();
const taken = new Map<string, WeakRef<object>>();

/**
 * Gives a pool, a `postgres` instance or a Redis client the name its queue has in reports
 * (`generic-pool:NAME`). To be called before its first use; most libraries have no name of their own to read.
 */
export function namePool(pool: object, name: string): void {
  // A promise pool of mysql2 stands before the pool that has the queue.
  const inner = (pool as { pool?: unknown }).pool;
  for (const named of [pool, inner]) {
    if (named === null || (typeof named !== 'object' && typeof named !== 'function')) continue;
    freeName(named);
    resolved.delete(named);
    given.set(named, name);
  }
}

/**
 * @returns the resource name of a pool: prefix and the name it was given, else what it is known by, else the
 * prefix alone. Two live pools never share a name that was not given to both.
 */
export function resourceOf(pool: object, prefix: string, known: string | undefined): string {
  const before = resolved.get(pool);
  if (before !== undefined) return before;
  const name = given.get(pool);
  const base = joined(prefix, name ?? known);
  let unique = base;
  if (name === undefined) {
    for (let number = 2; isTaken(unique); number++) unique = `${base}#${number}`;
  }
  resolved.set(pool, unique);
  taken.set(unique, new WeakRef(pool));
  return unique;
}

/** @returns the pools that are open and have been used, by resource name. */
export function* livePools(): Generator<[resource: string, pool: object]> {
  for (const [resource, reference] of taken) {
    const pool = reference.deref();
    if (pool !== undefined) yield [resource, pool];
  }
}

/** To be called when a pool has ended: a later one may have its name. */
export function freeName(pool: object): void {
  const name = resolved.get(pool);
  if (name !== undefined && taken.get(name)?.deref() === pool) taken.delete(name);
}

function joined(prefix: string, name: string | undefined): string {
  return name === undefined || name === '' ? prefix : `${prefix}:${name}`;
}

function isTaken(name: string): boolean {
  return taken.get(name)?.deref() !== undefined;
}
