import { context, trace } from '@opentelemetry/api';

/** What is compared; each runs in a process of its own. */
export const MODES = [
  'none',
  'official',
  'official+waitfall',
  'official+waitfall+otlp',
  // Below this `http+waitfall` cannot come.
  'http',
  'http+waitfall',
  'http+waitfall+otlp',
  'standalone',
];

async function sdk(instrumentations, wrap = (processor) => processor, makeExport = batchExport) {
  const { registerInstrumentations } = await import('@opentelemetry/instrumentation');
  const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks');
  const { TracerProvider } = await import('@opentelemetry/sdk-trace');
  const provider = new TracerProvider({ spanProcessors: [wrap(await makeExport())] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  registerInstrumentations({ instrumentations });
}

async function batchExport() {
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const { BatchSpanProcessor } = await import('@opentelemetry/sdk-trace');
  return new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), maxQueueSize: 65_536 });
}

const http = async () => new (await import('@opentelemetry/instrumentation-http')).HttpInstrumentation();
const others = async () => [
  new (await import('@opentelemetry/instrumentation-express')).ExpressInstrumentation(),
  new (await import('@opentelemetry/instrumentation-pg')).PgInstrumentation(),
];

/** Instruments this process; to be called before anything else is loaded. */
export async function instrument(mode) {
  if (mode === 'none') return;
  if (mode === 'standalone') {
    process.env.WAITFALL_MODE = 'standalone';
    await import('@waitfall/instrumentation/register');
    return;
  }
  if (mode === 'http') return sdk([await http()]);
  if (mode === 'official') return sdk([await http(), ...(await others())]);
  const { OtlpSpanProcessor, WaitfallInstrumentation, WaitfallSpanProcessor } = await import(
    '@waitfall/instrumentation'
  );
  const own = new WaitfallInstrumentation();
  const list = mode.startsWith('http+') ? [await http(), own] : [await http(), ...(await others()), own];
  const makeExport = mode.endsWith('+otlp') ? async () => new OtlpSpanProcessor() : batchExport;
  return sdk(list, (processor) => new WaitfallSpanProcessor(processor), makeExport);
}
