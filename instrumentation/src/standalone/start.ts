import { context, propagation, trace } from '@opentelemetry/api';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { setContextRunner } from '../core/active-context.ts';
import { flushRecorded } from '../core/shutdown.ts';
import { warnOnce } from '../core/warn.ts';
import { FileSpanProcessor } from '../export/file-processor.ts';
import { OtlpDestination } from '../export/otlp-destination.ts';
import { OtlpSender, otlpTargetFromEnv } from '../export/otlp-sender.ts';
import { noteFastifyRoutes } from '../http/framework-routes.ts';
import { patchHttpServers } from '../http/server-span.ts';
import type { WaitfallInstrumentation } from '../instrumentation.ts';
import { recorderFromEnv } from '../part-settings.ts';
import { makeClientSpans } from '../parts.ts';
import { isDisabled } from '../register/disabled.ts';
import { giveWay, handOverInstrumentations, warnOfForeignSetUp } from '../register/give-way.ts';
import { loadOptional } from '../register/optional-module.ts';
import { flushAtEnd } from '../register/process-end.ts';
import { AsyncContextManager } from './context-manager.ts';
import { W3cPropagator } from './propagator.ts';
import { type SpanDestination, StandaloneProvider } from './provider.ts';
import { resourceFromEnv } from './resource.ts';
import { samplerFromEnv } from './sampler.ts';

/** Settings that only the SDK understands: with one of them, it is used. */
const SDK_ONLY = [
  'OTEL_CONFIG_FILE',
  'OTEL_EXPERIMENTAL_CONFIG_FILE',
  'OTEL_EXPORTER_OTLP_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_CLIENT_KEY',
  'OTEL_METRICS_EXPORTER',
  'OTEL_LOGS_EXPORTER',
  'OTEL_NODE_RESOURCE_DETECTORS',
];

/** @returns which setting needs the SDK, or undefined where spans can be recorded without it. */
export function needsSdk(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const named = SDK_ONLY.find((name) => env[name] && env[name] !== 'none');
  if (named !== undefined) return named;
  if (samplerFromEnv(env) === undefined) return 'OTEL_TRACES_SAMPLER';
  if (!['', 'otlp'].includes(env['OTEL_TRACES_EXPORTER'] ?? '')) return 'OTEL_TRACES_EXPORTER';
  const protocol =
    env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? env['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? 'http/protobuf';
  if (protocol !== 'http/protobuf') return 'OTEL_EXPORTER_OTLP_PROTOCOL';
  const propagators = (env['OTEL_PROPAGATORS'] || 'tracecontext,baggage')
    .split(',')
    .map((name) => name.trim());
  return propagators.every((name) => name === 'tracecontext' || name === 'baggage')
    ? undefined
    : 'OTEL_PROPAGATORS';
}

/**
 * Records server, statement and wait spans without the SDK: a fraction of its cost. The OpenTelemetry API is
 * served all the same, so spans of the service itself and of instrumentations of its clients appear in place.
 *
 * @returns false where there is nowhere to send spans.
 */
export function startStandalone(own: WaitfallInstrumentation): boolean {
  const destinations: SpanDestination[] = [];
  const target = otlpTargetFromEnv();
  const otlp = target === undefined ? undefined : new OtlpDestination(new OtlpSender(target));
  if (otlp !== undefined) destinations.push(otlp);
  const path = process.env['WAITFALL_TRACE_FILE'];
  const file = path ? new FileSpanProcessor(path) : undefined;
  if (file !== undefined) destinations.push(file as SpanDestination);
  // With nothing but the flight recorder no request is sampled, so that it keeps all of them.
  const isRecorderAlone = destinations.length === 0 && recorderFromEnv(process.env) !== undefined;
  const sampler = samplerFromEnv(isRecorderAlone ? { OTEL_TRACES_SAMPLER: 'always_off' } : process.env);
  if (sampler === undefined) return false;
  if (destinations.length === 0 && !isRecorderAlone) {
    warnOnce(
      'no-destination',
      'nowhere to send spans: set OTEL_EXPORTER_OTLP_ENDPOINT, or WAITFALL_TRACE_FILE=traces.jsonl',
    );
    return false;
  }
  const provider = new StandaloneProvider(resourceFromEnv(), sampler, destinations);
  const manager = new AsyncContextManager();
  if (context.setGlobalContextManager(manager)) setContextRunner(manager);
  propagation.setGlobalPropagator(new W3cPropagator());
  trace.setGlobalTracerProvider(provider);
  const clients = outbound();
  registerInstrumentations({ tracerProvider: provider, instrumentations: [own, ...clients] });
  patchHttpServers(provider);
  noteFastifyRoutes();
  giveWay({
    contextManager: () => setContextRunner(undefined),
    tracerProvider: (next) => {
      provider.handOver(next);
      makeClientSpans({ http: false, undici: false });
      handOverInstrumentations([own, ...clients], next);
      warnOfForeignSetUp();
    },
  });
  flushAtEnd({
    flushSync: () => {
      flushRecorded();
      file?.flushSync();
    },
    flush: async () => {
      await provider.forceFlush();
      const missing = otlp?.dropped ?? 0;
      if (missing > 0) warnOnce('missing', `${missing} spans were never sent`);
    },
    needsAsync: target !== undefined,
  });
  return true;
}

/**
 * What carries the trace to other services: the official instrumentations of clients where they are installed, else, or
 * with `WAITFALL_CLIENT_SPANS=own`, spans of ours.
 */
function outbound(): import('@opentelemetry/instrumentation').Instrumentation[] {
  const official = process.env['WAITFALL_CLIENT_SPANS'] !== 'own';
  const [http, undici] = ['http', 'undici'].map((name) =>
    official && !isDisabled(name) ? loadOptional(`@opentelemetry/instrumentation-${name}`) : undefined,
  );
  // Patching `http` may fail where it is imported; then no official span is active at a call, and ours stands in.
  makeClientSpans({ http: !isDisabled('http'), undici: undici === undefined && !isDisabled('undici') });
  const list = [];
  if (http !== undefined)
    list.push(new http.HttpInstrumentation({ disableIncomingRequestInstrumentation: true }));
  if (undici !== undefined) list.push(new undici.UndiciInstrumentation());
  return list;
}
