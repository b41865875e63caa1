import { createRequire } from 'node:module';
import { performance } from 'node:perf_hooks';
import type { Meter } from '@opentelemetry/api';

const OFFICIAL = /[/\\]@opentelemetry[/\\]instrumentation-runtime-node[/\\]/;

/**
 * The event loop by https://opentelemetry.io/docs/specs/semconv/runtime/nodejs-metrics/, unless the official
 * runtime instrumentation is loaded, which emits the same.
 */
export function observeEventLoop(meter: Meter): void {
  const { cache } = createRequire(import.meta.url);
  if (Object.keys(cache ?? {}).some((path) => OFFICIAL.test(path))) return;
  const utilization = meter.createObservableGauge('nodejs.eventloop.utilization', {
    unit: '1',
    description: 'Event loop utilization.',
  });
  const time = meter.createObservableCounter('nodejs.eventloop.time', {
    unit: 's',
    description: 'Cumulative duration of time the event loop has been in each state.',
  });
  let last = performance.eventLoopUtilization();
  meter.addBatchObservableCallback(
    (result) => {
      const total = performance.eventLoopUtilization();
      result.observe(utilization, performance.eventLoopUtilization(total, last).utilization);
      result.observe(time, total.active / 1e3, { 'nodejs.eventloop.state': 'active' });
      result.observe(time, total.idle / 1e3, { 'nodejs.eventloop.state': 'idle' });
      last = total;
    },
    [utilization, time],
  );
}
