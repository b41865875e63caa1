import { warnOnce } from '../../core/warn.ts';
import type { SamplerSettings } from './poll-schedule.ts';

let wanted: SamplerSettings | undefined;
let loaded: typeof import('./start.ts') | undefined;

/** Starts or stops the lock sampler; it is loaded when it is wanted first. */
export function switchLockSampler(settings: SamplerSettings | undefined): void {
  wanted = settings;
  if (loaded !== undefined) {
    follow();
    return;
  }
  if (settings === undefined) return;
  import('./start.ts').then(
    (start) => {
      loaded = start;
      follow();
    },
    (error) => warnOnce('sampler-load', `the lock sampler could not be loaded: ${String(error)}`),
  );
}

function follow(): void {
  if (wanted === undefined) loaded?.stopLockSampler();
  else loaded?.startLockSampler(wanted);
}
