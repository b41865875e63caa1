import { PREFIX_PG_POOL } from '../conventions.ts';
import type { PgPool } from './types.ts';

const named = new Map<string, WeakRef<PgPool>[]>();
const names = new WeakMap<PgPool, string>();

/**
 * @returns the resource name of a pool: `pg-pool:` and the first that is set of the option `waitfall.name`,
 * application name and database. Two open pools never share a name: the second one says where it leads, or
 * its number. User and password are never part of it.
 */
export function poolResource(pool: PgPool): string {
  const known = names.get(pool);
  if (known !== undefined) return known;
  const base = `${PREFIX_PG_POOL}${bareName(pool)}`;
  let name = base;
  if (isTaken(base, pool)) {
    const where = `${base}@${address(pool)}`;
    name = where;
    for (let number = 2; isTaken(name, pool); number++) name = `${where}#${number}`;
  }
  names.set(pool, name);
  named.set(name, [new WeakRef(pool)]);
  return name;
}

/** @returns the pools that are named and not ended. */
export function* openPools(): Generator<[resource: string, pool: PgPool]> {
  for (const [resource, references] of named) {
    for (const reference of references) {
      const pool = reference.deref();
      if (pool !== undefined && pool.ending !== true && pool.ended !== true) yield [resource, pool];
    }
  }
}

function isTaken(name: string, pool: PgPool): boolean {
  return (named.get(name) ?? []).some((reference) => {
    const other = reference.deref();
    return other !== undefined && other !== pool && other.ending !== true && other.ended !== true;
  });
}

function bareName(pool: PgPool): string {
  const options = pool.options ?? {};
  const url = parsed(options.connectionString);
  const fromUrl = url?.searchParams.get('application_name') ?? decoded(url?.pathname.slice(1));
  return (
    options['waitfall.name'] ||
    options.application_name ||
    options.database ||
    fromUrl ||
    process.env['PGDATABASE'] ||
    'default'
  );
}

function address(pool: PgPool): string {
  const options = pool.options ?? {};
  const url = parsed(options.connectionString);
  const host = options.host || url?.hostname || process.env['PGHOST'] || 'localhost';
  const port = options.port || url?.port || process.env['PGPORT'] || 5432;
  return `${host}:${port}`;
}

function parsed(connectionString: string | undefined): URL | undefined {
  return connectionString !== undefined && URL.canParse(connectionString)
    ? new URL(connectionString)
    : undefined;
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
