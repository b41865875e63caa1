import type { MeterProvider } from '@opentelemetry/api';
import { SCOPE_NAME } from '../conventions.ts';
import { VERSION } from '../core/version.ts';
import { observeEventLoop } from './event-loop.ts';
import { observePools } from './pools.ts';
import { recordWaits } from './waits.ts';

let started = false;

/** Emits the metrics of this package through a provider; once per process. */
export function startMetrics(provider: MeterProvider): void {
  if (started) return;
  started = true;
  const meter = provider.getMeter(SCOPE_NAME, VERSION);
  recordWaits(meter);
  observePools(meter);
  observeEventLoop(meter);
}
