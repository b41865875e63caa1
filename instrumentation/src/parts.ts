import type { MeterProvider } from '@opentelemetry/api';
import { InstrumentationNodeModuleDefinition } from '@opentelemetry/instrumentation';
import type { VersionRange } from './core/supported.ts';
import { warnOnce } from './core/warn.ts';
import { patchHttpClients } from './outbound/http-agent.ts';
import type { OutboundSwitch } from './outbound/switch.ts';
import { watchUndici } from './outbound/undici-channels.ts';
import { patchUndici } from './outbound/undici-dispatch.ts';
import type { PartSettings } from './part-settings.ts';
import { stopWatchingCpuQuota, watchCpuQuota } from './runtime/cpu-quota.ts';
import { stopWatchingGc, watchGc } from './runtime/gc.ts';
import { patchThreadPool, type ThreadPoolSwitch } from './runtime/thread-pool/patch-thread-pool.ts';

const UNDICI_VERSIONS: VersionRange = { from: [5, 8, 0], below: 9 };

/** What the patches of these parts look at on every call. */
const on: OutboundSwitch & ThreadPoolSwitch = {
  outbound: false,
  httpSpans: false,
  undiciSpans: false,
  threadPool: false,
};

// biome-ignore lint/suspicious/noExplicitAny: exports of somebody else's module
type Exports = any;
type Guarded = (
  name: string,
  version: string | undefined,
  range: VersionRange,
  exports: Exports,
  patch: () => unknown,
) => Exports;

/** @returns what is to be patched when it is loaded. */
export function partDefinitions(guarded: Guarded): InstrumentationNodeModuleDefinition[] {
  return [
    new InstrumentationNodeModuleDefinition('undici', ['*'], (exports, version) =>
      guarded('undici', version, UNDICI_VERSIONS, exports, () => patchUndici(exports.default ?? exports, on)),
    ),
  ];
}

/** Turns the parts on that the settings ask for. Those that are asked for seldom are loaded only then. */
export function enableParts(settings: PartSettings): void {
  on.outbound = settings.outbound;
  if (settings.outbound) {
    patchHttpClients(on);
    watchUndici(on);
  }
  on.threadPool = settings.threadPool;
  if (settings.threadPool) patchThreadPool(on);
  if (settings.pauses) {
    watchGc();
    watchCpuQuota();
  }
  if (settings.cpuProfile) {
    load('cpu profile', import('./profile/cpu-profile.ts'), ({ startCpuProfile }) => startCpuProfile());
  }
  if (settings.recorder !== undefined) {
    const { recorder } = settings;
    load('recorder', import('./recorder/flight-recorder.ts'), ({ startRecorder }) => startRecorder(recorder));
  }
}

export function disableParts(): void {
  on.outbound = false;
  on.threadPool = false;
  stopWatchingGc();
  stopWatchingCpuQuota();
}

/** Makes CLIENT spans of our own for outgoing requests, where no official instrumentation does. */
export function makeClientSpans(makers: { http: boolean; undici: boolean }): void {
  on.httpSpans = makers.http;
  on.undiciSpans = makers.undici;
}

/** Emits metrics through a provider; without a real one nothing is loaded. */
export function provideMetrics(provider: MeterProvider, wanted: boolean): void {
  if (!wanted || provider.constructor.name === 'NoopMeterProvider') return;
  load('metrics', import('./metrics/start.ts'), ({ startMetrics }) => startMetrics(provider));
}

function load<T>(name: string, module: Promise<T>, start: (module: T) => void): void {
  module.then(start).catch((error: unknown) => {
    warnOnce(name, `the ${name} could not be started: ${String(error)}`);
  });
}
