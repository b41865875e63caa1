import {
  InstrumentationNodeModuleDefinition,
  InstrumentationNodeModuleFile,
} from '@opentelemetry/instrumentation';
import type { VersionRange } from '../core/supported.ts';
import { patchIoredis } from './ioredis.ts';
import { patchIoredisCluster } from './ioredis-cluster.ts';
import { patchMysql2 } from './mysql2.ts';
import { patchPostgres } from './postgres.ts';
import { patchGenericPool, patchSequelizePool } from './promise-pool.ts';
import type { AdapterSwitch } from './switch.ts';
import { patchKnex, patchTarn } from './tarn.ts';

// biome-ignore lint/suspicious/noExplicitAny: exports of somebody else's module
type Exports = any;

/** Checks the version and runs a patch; what is thrown in it is said once. */
export type Guard = (
  name: string,
  version: string | undefined,
  range: VersionRange,
  exports: Exports,
  patch: () => unknown,
) => Exports;

interface Adapter {
  readonly range: VersionRange;
  readonly patch: (library: Exports, on: AdapterSwitch) => unknown;
}

/** Libraries whose classes are patched in place, by package. */
const ADAPTERS: Readonly<Record<string, Adapter>> = {
  tarn: { range: { from: [3, 0, 0], below: 4 }, patch: ({ Pool }, on) => patchTarn(Pool, on) },
  knex: { range: { from: [0, 95, 0], below: 4 }, patch: ({ Client }) => patchKnex(Client) },
  'sequelize-pool': {
    range: { from: [6, 0, 0], below: 9 },
    patch: ({ Pool }, on) => patchSequelizePool(Pool, on),
  },
  'generic-pool': {
    range: { from: [3, 0, 0], below: 4 },
    patch: ({ Pool }, on) => patchGenericPool(Pool, on),
  },
  ioredis: {
    range: { from: [4, 0, 0], below: 7 },
    patch: (library, on) => {
      patchIoredis(library.Redis ?? library, on);
      if (library.Cluster !== undefined) patchIoredisCluster(library.Cluster, on);
    },
  },
};

const POSTGRES: VersionRange = { from: [3, 0, 0], below: 4 };
const MYSQL2: VersionRange = { from: [2, 0, 0], below: 4 };

/** @returns what the adapters patch when it is loaded; nothing is loaded by them. */
export function adapterDefinitions(on: AdapterSwitch, guard: Guard): InstrumentationNodeModuleDefinition[] {
  const definitions = Object.entries(ADAPTERS).map(
    ([name, { range, patch }]) =>
      new InstrumentationNodeModuleDefinition(name, ['*'], (exports, version) =>
        guard(name, version, range, exports, () => patch(libraryOf(exports), on)),
      ),
  );
  return [...definitions, mysql2Definition(on, guard), postgresDefinition(on, guard)];
}

/** `mysql2` and `mysql2/promise` are two entries to the same two classes. */
function mysql2Definition(on: AdapterSwitch, guard: Guard): InstrumentationNodeModuleDefinition {
  const file = (name: string, part: 'Pool' | 'PoolConnection') =>
    new InstrumentationNodeModuleFile(
      `mysql2/lib/${name}.js`,
      ['*'],
      (exports, version) =>
        guard('mysql2', version, MYSQL2, exports, () => patchMysql2({ [part]: libraryOf(exports) }, on)),
      () => {},
    );
  return new InstrumentationNodeModuleDefinition('mysql2', ['*'], undefined, undefined, [
    file('pool', 'Pool'),
    file('pool_connection', 'PoolConnection'),
  ]);
}

/** The package exports one function: it is exchanged, not changed. */
function postgresDefinition(on: AdapterSwitch, guard: Guard): InstrumentationNodeModuleDefinition {
  const done = new WeakSet<object>();
  return new InstrumentationNodeModuleDefinition('postgres', ['*'], (exports, version) => {
    let result = exports;
    guard('postgres', version, POSTGRES, exports, () => {
      const isModule = exports?.[Symbol.toStringTag] === 'Module';
      const library = isModule ? exports.default : exports;
      if (typeof library !== 'function' || done.has(library)) return;
      const patched = patchPostgres(library, on);
      done.add(patched);
      if (isModule) exports.default = patched;
      else result = patched;
    });
    return result;
  });
}

/** An imported CommonJS package is a namespace with its exports as default. */
function libraryOf(exports: Exports): Exports {
  return exports?.[Symbol.toStringTag] === 'Module' ? exports.default : exports;
}
