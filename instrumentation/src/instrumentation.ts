import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import {
  InstrumentationBase,
  InstrumentationNodeModuleDefinition,
  InstrumentationNodeModuleFile,
} from '@opentelemetry/instrumentation';
import { adapterDefinitions } from './adapters/definitions.ts';
import { setSlotWarnMs } from './adapters/slot-wait.ts';
import type { AdapterSwitch } from './adapters/switch.ts';
import { SCOPE_NAME } from './conventions.ts';
import { setMinWaitMs, setTracer } from './core/emit.ts';
import { loopClock } from './core/loop-clock.ts';
import { isSupported, type VersionRange } from './core/supported.ts';
import { VERSION } from './core/version.ts';
import { warnOnce } from './core/warn.ts';
import { patchKoa } from './http/framework-routes.ts';
import { trustQueueHeader } from './http/queue-header.ts';
import { patchExpressRouter } from './http/route.ts';
import { patchHttp2 } from './http/server-span.ts';
import { disableParts, enableParts, partDefinitions, provideMetrics } from './parts.ts';
import { type ClientSwitch, patchClient } from './pg/patch-client.ts';
import { type PoolSwitch, patchPool } from './pg/patch-pool.ts';
import { setHoldWarnMs } from './pg/pool-wait.ts';
import { switchLockSampler } from './pg/sampler/switch.ts';
import { type Settings, settingsOf, type WaitfallConfig } from './settings.ts';

const PG_VERSIONS: VersionRange = { from: [8, 0, 3], below: 9 };
const PG_POOL_VERSIONS: VersionRange = { from: [2, 0, 0], below: 4 };
const EXPRESS_VERSIONS: VersionRange = { from: [4, 0, 0], below: 6 };
const KOA_VERSIONS: VersionRange = { from: [2, 0, 0], below: 4 };
const ANY_VERSION: VersionRange = { from: [0, 0, 0], below: Number.POSITIVE_INFINITY };
/** The base class would pass over an unknown version in silence; the range is checked here, and said. */
const ANY = ['*'];

/** What the patches look at on every call; one object, so that enabling and disabling reach them. */
const active: PoolSwitch & ClientSwitch & AdapterSwitch = {
  pool: false,
  statements: false,
  rowLocks: false,
  lockSalt: undefined,
  adapters: false,
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
    active.adapters = false;
    switchLockSampler(undefined);
    disableParts();
  }

  override setTracerProvider(provider: TracerProvider): void {
    super.setTracerProvider(provider);
    setTracer(this.tracer);
  }

  override setMeterProvider(provider: MeterProvider): void {
    super.setMeterProvider(provider);
    provideMetrics(provider, settingsOf(this.getConfig()).metrics);
  }

  protected override init(): InstrumentationNodeModuleDefinition[] {
    const client = (exports: Exports, version?: string) =>
      guarded('pg', version, PG_VERSIONS, exports, () => patchClient(defaultOf(exports), active));
    return [
      new InstrumentationNodeModuleDefinition(
        'pg',
        ANY,
        (exports, version) => guarded('pg', version, PG_VERSIONS, exports, () => patchPg(defaultOf(exports))),
        undefined,
        [
          // The pool's clients may be loaded without the package's entry.
          new InstrumentationNodeModuleFile('pg/lib/client.js', ANY, client, () => {}),
          new InstrumentationNodeModuleFile('pg/lib/native/client.js', ANY, client, () => {}),
        ],
      ),
      new InstrumentationNodeModuleDefinition('express', ANY, (exports, version) =>
        guarded('express', version, EXPRESS_VERSIONS, exports, () => patchExpressRouter(defaultOf(exports))),
      ),
      new InstrumentationNodeModuleDefinition('pg-pool', ANY, (exports, version) =>
        guarded('pg-pool', version, PG_POOL_VERSIONS, exports, () => patchPool(defaultOf(exports), active)),
      ),
      new InstrumentationNodeModuleDefinition('koa', ANY, (exports, version) =>
        guarded('koa', version, KOA_VERSIONS, exports, () => patchKoa(defaultOf(exports))),
      ),
      new InstrumentationNodeModuleDefinition('http2', ANY, (exports) =>
        guarded('http2', undefined, ANY_VERSION, exports, () => patchHttp2(defaultOf(exports))),
      ),
      ...adapterDefinitions(active, guarded),
      ...partDefinitions(guarded),
    ];
  }
}

function apply(settings: Settings): void {
  active.pool = settings.pool;
  active.statements = settings.statements;
  active.rowLocks = settings.rowLocks;
  active.lockSalt = settings.lockSalt;
  active.adapters = settings.adapters;
  switchLockSampler(settings.statements ? settings.locks : undefined);
  trustQueueHeader(settings.queueHeader);
  setMinWaitMs(settings.minWaitMs);
  setHoldWarnMs(settings.holdWarnMs);
  setSlotWarnMs(settings.holdWarnMs);
  loopClock.start();
  enableParts(settings);
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
  if (typeof pool?.prototype?.connect !== 'function') return;
  patchPool(pool, active);
  patched.add('pg-pool');
}

/** A library whose inside looks different is left alone, and said once. */
function guarded(
  name: string,
  version: string | undefined,
  range: VersionRange,
  exports: Exports,
  patch: () => unknown,
): Exports {
  try {
    if (isSupported(name, version, range)) {
      patch();
      patched.add(name);
    }
  } catch (error) {
    warnOnce(`patch ${name}`, `${name} could not be patched, its waits are not recorded: ${String(error)}`);
  }
  return exports;
}
