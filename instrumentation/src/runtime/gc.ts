import { constants, PerformanceObserver } from 'node:perf_hooks';
import { ATTR_GC_KIND, RESOURCE_GC } from '../conventions.ts';
import { pauseLog } from './pauses.ts';

/** Shorter pauses are part of the work they interrupt. */
const MIN_PAUSE_MS = 1;

/** The values of https://opentelemetry.io/docs/specs/semconv/runtime/v8js-metrics/ for `v8js.gc.type`. */
const KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

let observer: PerformanceObserver | undefined;

/** Reports garbage collections of at least 1 ms as pauses. Their times are V8's own, on this process's clock. */
export function watchGc(): void {
  if (observer !== undefined) return;
  pauseLog.open();
  observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { startTime, duration } = entry;
      if (duration < MIN_PAUSE_MS) continue;
      const kind = KINDS[(entry as { detail?: { kind?: number } }).detail?.kind ?? 0] ?? 'other';
      pauseLog.add({
        startMs: startTime,
        endMs: startTime + duration,
        resource: RESOURCE_GC,
        cause: 'gc',
        attributes: { [ATTR_GC_KIND]: kind },
      });
    }
  });
  observer.observe({ entryTypes: ['gc'] });
}

export function stopWatchingGc(): void {
  if (observer === undefined) return;
  observer.disconnect();
  observer = undefined;
  pauseLog.close();
}
