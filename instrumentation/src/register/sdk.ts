import { type TracerProvider, trace } from '@opentelemetry/api';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { flushRecorded } from '../core/shutdown.ts';
import { type AnySpanProcessor, WaitfallSpanProcessor } from '../core/span-processor.ts';
import { warnOnce } from '../core/warn.ts';
import { FanOutProcessor } from '../export/fan-out.ts';
import { FileSpanProcessor } from '../export/file-processor.ts';
import { OtlpSpanProcessor } from '../export/otlp-processor.ts';
import { httpInstrumentationHooks } from '../http/official-http.ts';
import type { WaitfallInstrumentation } from '../instrumentation.ts';
import { isDisabled } from './disabled.ts';
import { giveWay, handOverInstrumentations, warnOfForeignSetUp } from './give-way.ts';
import { handOverTracers } from './hand-over-tracers.ts';
import { type Loaded, loadOptional } from './optional-module.ts';
import { flushAtEnd } from './process-end.ts';

const SDK = '@opentelemetry/sdk-node';
const EXPORTERS: Record<string, string> = {
  grpc: '@opentelemetry/exporter-trace-otlp-grpc',
  'http/json': '@opentelemetry/exporter-trace-otlp-http',
  'http/protobuf': '@opentelemetry/exporter-trace-otlp-proto',
};
/** Package, exported class and its settings. */
const OFFICIAL: readonly (readonly [string, string, object?])[] = [
  ['@opentelemetry/instrumentation-http', 'HttpInstrumentation', httpInstrumentationHooks()],
  ['@opentelemetry/instrumentation-express', 'ExpressInstrumentation'],
  ['@opentelemetry/instrumentation-pg', 'PgInstrumentation'],
  ['@opentelemetry/instrumentation-undici', 'UndiciInstrumentation'],
];

/** Set by the first export path that is configured; both may be. */
interface Destination {
  processors: AnySpanProcessor[];
  file: FileSpanProcessor | undefined;
}

/** @returns whether a tracer provider has been registered with the OpenTelemetry API already. */
export function hasTracerProvider(): boolean {
  const proxy = trace.getTracerProvider();
  const delegate = registeredProvider();
  return delegate.constructor.name !== 'NoopTracerProvider' && delegate !== proxy;
}

function registeredProvider(): TracerProvider {
  const proxy = trace.getTracerProvider() as TracerProvider & { getDelegate?: () => TracerProvider };
  return proxy.getDelegate?.() ?? proxy;
}

/** Starts the OpenTelemetry SDK with the official instrumentations that are installed, and ours. */
export function startSdk(own: WaitfallInstrumentation): boolean {
  const sdkNode = loadOptional(SDK);
  if (sdkNode === undefined) {
    warnOnce('no-sdk', `${SDK} is not installed: nothing is recorded. npm install ${SDK}`);
    return false;
  }
  const destination = destinationFromEnv();
  if (destination.processors.length === 0) {
    warnOnce(
      'no-destination',
      'nowhere to send spans: set OTEL_EXPORTER_OTLP_ENDPOINT, or WAITFALL_TRACE_FILE=traces.jsonl',
    );
    return false;
  }
  const processor = new WaitfallSpanProcessor(new FanOutProcessor(destination.processors));
  const instrumentations: Instrumentation[] = [...officialInstrumentations(), own];
  const options: Record<string, unknown> = {
    spanProcessors: [processor],
    instrumentations,
  };
  if (process.env.OTEL_METRICS_EXPORTER === undefined) options['metricReaders'] = [];
  if (process.env.OTEL_LOGS_EXPORTER === undefined) options['logRecordProcessors'] = [];
  const sdk = new sdkNode.NodeSDK(options);
  sdk.start();
  const handOver = handOverTracers(registeredProvider());
  giveWay({
    contextManager: () => {},
    tracerProvider: (next) => {
      handOver(next);
      void processor.shutdown().catch(() => {});
      handOverInstrumentations(instrumentations, next);
      warnOfForeignSetUp();
    },
  });
  flushAtEnd({
    flushSync: () => {
      flushRecorded();
      destination.file?.flushSync();
    },
    flush: () => processor.forceFlush(),
    needsAsync: destination.processors.some((next) => next !== destination.file),
  });
  return true;
}

function officialInstrumentations(): Instrumentation[] {
  const missing: string[] = [];
  const list: Instrumentation[] = [];
  for (const [name, exported, settings] of OFFICIAL) {
    if (isDisabled(name.replace('@opentelemetry/instrumentation-', ''))) continue;
    const loaded = loadOptional(name);
    if (loaded === undefined) missing.push(name);
    else list.push(new loaded[exported](settings));
  }
  if (missing.length > 0)
    warnOnce('no-official', `not installed, so without their spans: ${missing.join(', ')}`);
  return list;
}

function destinationFromEnv(): Destination {
  const processors: AnySpanProcessor[] = [];
  const env = process.env;
  if (env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) {
    const otlp = otlpProcessor();
    if (otlp !== undefined) processors.push(otlp);
  }
  let file: FileSpanProcessor | undefined;
  if (env.WAITFALL_TRACE_FILE) {
    file = new FileSpanProcessor(env.WAITFALL_TRACE_FILE);
    processors.push(file);
  }
  return { processors, file };
}

/** Ours costs a fraction of it, but knows no client certificates, and the settings of a batch processor have no meaning to it. */
function needsOfficialExporter(env: NodeJS.ProcessEnv): boolean {
  return Object.keys(env).some(
    (name) => /^OTEL_(BSP_|EXPORTER_OTLP_(TRACES_)?(CERTIFICATE|CLIENT_))/.test(name) && env[name],
  );
}

function otlpProcessor(): AnySpanProcessor | undefined {
  const { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL } = process.env;
  const protocol = OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf';
  if (protocol === 'http/protobuf' && !needsOfficialExporter(process.env)) return new OtlpSpanProcessor();
  const name = EXPORTERS[protocol] ?? EXPORTERS['http/protobuf'];
  const exporter = loadOptional(name, SDK);
  if (exporter === undefined) {
    warnOnce('no-exporter', `${name} is not installed: no spans are sent to the OTLP endpoint`);
    return undefined;
  }
  return batchProcessor(new exporter.OTLPTraceExporter());
}

/** SDK 3.x takes `{ exporter, … }`, SDK 2.x `(exporter, …)`; the package's name tells which it is. */
function batchProcessor(exporter: Loaded): AnySpanProcessor | undefined {
  const queue = { maxQueueSize: Number(process.env.OTEL_BSP_MAX_QUEUE_SIZE) || 16_384 };
  const current = loadOptional('@opentelemetry/sdk-trace', SDK);
  if (current?.BatchSpanProcessor !== undefined)
    return new current.BatchSpanProcessor({ exporter, ...queue });
  const older = loadOptional('@opentelemetry/sdk-trace-base', SDK);
  if (older?.BatchSpanProcessor !== undefined) return new older.BatchSpanProcessor(exporter, queue);
  warnOnce('no-batch', 'neither @opentelemetry/sdk-trace nor @opentelemetry/sdk-trace-base was found');
  return undefined;
}
