import { createRequire } from 'node:module';
import {
  type ContextAPI,
  context,
  type PropagationAPI,
  propagation,
  type TraceAPI,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { wrapMethod } from '../core/patch.ts';
import { warnOnce } from '../core/warn.ts';
import { loadOptional } from './optional-module.ts';

interface Api {
  readonly trace: TraceAPI;
  readonly context: ContextAPI;
  readonly propagation: PropagationAPI;
}

/** What to do when somebody else takes a place in the OpenTelemetry API that is ours. */
interface Successions {
  tracerProvider(next: TracerProvider): void;
  contextManager(): void;
}

/**
 * A set-up of the service's own that is registered after ours takes its place, as if it had come first: the API itself
 * would refuse it, and the service would lose its traces.
 */
export function giveWay(successions: Successions): void {
  const ours = { trace: true, context: true, propagation: true };
  const leave = (api: Api, place: keyof Api) => {
    if (!ours[place]) return;
    ours[place] = false;
    api[place].disable();
    if (place === 'context') successions.contextManager();
  };
  for (const api of copies()) {
    before(api.trace, 'setGlobalTracerProvider', (next) => {
      if (!ours.trace) return;
      for (const place of ['trace', 'context', 'propagation'] as const) leave(api, place);
      successions.tracerProvider(next as TracerProvider);
    });
    before(api.context, 'setGlobalContextManager', () => leave(api, 'context'));
    before(api.propagation, 'setGlobalPropagator', () => leave(api, 'propagation'));
  }
}

/**
 * Lets instrumentations make their spans with another provider. They are not disabled: that would take off the wrappers
 * of the service's own instrumentations, which have taken ours off already. That of undici wraps nothing.
 */
export function handOverInstrumentations(list: readonly Instrumentation[], next: TracerProvider): void {
  for (const instrumentation of list) {
    if (instrumentation.instrumentationName === '@opentelemetry/instrumentation-undici')
      instrumentation.disable();
    else instrumentation.setTracerProvider(next);
  }
}

/** Says that what was asked of `register` is not done, where a set-up of the service's own sends the spans. */
export function warnOfForeignSetUp(): void {
  if (!process.env['WAITFALL_TRACE_FILE']) return;
  warnOnce(
    'foreign-setup',
    'the service has an OpenTelemetry set-up of its own: spans go where it sends them, not to WAITFALL_TRACE_FILE. ' +
      "Add new WaitfallSpanProcessor(new FileSpanProcessor('traces.jsonl')) to its span processors",
  );
}

function before(part: object, method: string, run: (next: unknown) => void): void {
  wrapMethod(Object.getPrototypeOf(part), method, (inner) => {
    return function (this: unknown, ...args: unknown[]): unknown {
      try {
        run(args[0]);
      } catch (error) {
        warnOnce('give-way', `could not make room for the service's OpenTelemetry set-up: ${String(error)}`);
      }
      return inner().apply(this, args);
    };
  });
}

/** The API as it is imported and as it is required, by us and by the service: they share what is registered. */
function copies(): Api[] {
  const own = createRequire(import.meta.url)('@opentelemetry/api') as Api;
  const services = loadOptional('@opentelemetry/api') as Api | undefined;
  return [{ trace, context, propagation }, own, ...(services === undefined ? [] : [services])];
}
