import type { TracerProvider } from '@opentelemetry/api';
import {
  InstrumentationBase,
  InstrumentationNodeModuleDefinition,
  InstrumentationNodeModuleFile,
} from '@opentelemetry/instrumentation';
import { SCOPE_NAME } from './conventions.ts';
import { setMinWaitMs, setTracer } from './core/emit.ts';
import { loopClock } from './core/loop-clock.ts';
import { VERSION } from './core/version.ts';
import { warnOnce } from './core/warn.ts';
import { type ClientSwitch, patchClient } from './pg/patch-client.ts';
import { type PoolSwitch, patchPool } from './pg/patch-pool.ts';
import { type Settings, settingsOf, type WaitfallConfig } from './settings.ts';

const PG_VERSIONS = ['>=8.0.3 <9'];
const PG_POOL_VERSIONS = ['>=2.0.0 <4'];

/** What the patches look at on every call; one object, so that enabling and disabling reach them. */
const active: PoolSwitch & ClientSwitch = {
  pool: false,
  statements: false,
  rowLocks: false,
  lockSalt: undefined,
};
const patched = new Set<string>();

/** @returns the packages of this process that are patched. */
export function patchedModules(): ReadonlySet<string> {
  return patched;
}

/**
 * Records the waits, holds and row locks of `pg` and `pg-pool`, beside any other instrumentation and in any
 * load order.
 */
export class WaitfallInstrumentation extends InstrumentationBase<WaitfallConfig> {
  constructor(config: WaitfallConfig = {}) {
    super(SCOPE_NAME, VERSION, { ...config, enabled: settingsOf(config).enabled });
  }

  override enable(): void {
    super.enable();
    apply(settingsOf(this.getConfig()));
  }

  override disable(): void {
    super.disable();
    active.pool = false;
    active.statements = false;
  }

  override setTracerProvider(provider: TracerProvider): void {
    super.setTracerProvider(provider);
    setTracer(this.tracer);
  }

  protected override init(): InstrumentationNodeModuleDefinition[] {
    return [
      new InstrumentationNodeModuleDefinition(
        'pg',
        PG_VERSIONS,
        (exports) => guarded('pg', exports, () => patchPg(defaultOf(exports))),
        undefined,
        [
          // The pool's clients may be loaded without the package's entry.
          new InstrumentationNodeModuleFile(
            'pg/lib/client.js',
            PG_VERSIONS,
            (exports) => guarded('pg', exports, () => patchClient(defaultOf(exports), active)),
            () => {},
          ),
          new InstrumentationNodeModuleFile(
            'pg/lib/native/client.js',
            PG_VERSIONS,
            (exports) => guarded('pg', exports, () => patchClient(defaultOf(exports), active)),
            () => {},
          ),
        ],
      ),
      new InstrumentationNodeModuleDefinition('pg-pool', PG_POOL_VERSIONS, (exports) =>
        guarded('pg-pool', exports, () => patchPool(defaultOf(exports), active)),
      ),
    ];
  }
}

function apply(settings: Settings): void {
  active.pool = settings.pool;
  active.statements = settings.statements;
  active.rowLocks = settings.rowLocks;
  active.lockSalt = settings.lockSalt;
  setMinWaitMs(settings.minWaitMs);
  loopClock.start();
}

// biome-ignore lint/suspicious/noExplicitAny: exports of somebody else's module
type Exports = any;

/** An imported CommonJS package is a namespace with its exports as default. */
function defaultOf(exports: Exports): Exports {
  return exports?.[Symbol.toStringTag] === 'Module' ? exports.default : exports;
}

/** `pg.Pool` extends the class of `pg-pool`, which may have been loaded before anything could hook it. */
function patchPg(pg: Exports): void {
  patchClient(pg.Client, active);
  const pool = Object.getPrototypeOf(pg.Pool);
  if (typeof pool?.prototype?.connect === 'function') patchPool(pool, active);
}

/** A library whose inside looks different is left alone, and said once. */
function guarded(name: string, exports: Exports, patch: () => unknown): Exports {
  try {
    patch();
    patched.add(name);
  } catch (error) {
    warnOnce(`patch ${name}`, `${name} could not be patched, its waits are not recorded: ${String(error)}`);
  }
  return exports;
}
