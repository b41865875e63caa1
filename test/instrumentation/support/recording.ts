import { createRequire } from 'node:module';
import { type Context, context, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { type Instrumentation, registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { WaitfallInstrumentation, WaitfallSpanProcessor } from '@waitfall/instrumentation';

/** A span as tests look at it: times in ms since the first reading of the process. */
export interface Recorded {
  name: string;
  traceId: string;
  spanId: string;
  parentId: string | undefined;
  scope: string;
  /** SpanKind of the API: 1 SERVER, 2 CLIENT. */
  kind: number;
  startMs: number;
  endMs: number;
  endEpochMs: number;
  lengthMs: number;
  /** `waitfall.*` attributes without their prefix, and all others. */
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string; attributes: Record<string, unknown> }[];
  failed: boolean;
}

export interface Recording {
  /** Every span that has ended so far. */
  spans(): Recorded[];
  /** Ended spans of one segment, by start. */
  segment(name: string): Recorded[];
  clear(): void;
  stop(): Promise<void>;
}

export interface RecordingOptions {
  official?: boolean;
  /** Which of the two is registered, and so patches, first. */
  first?: 'official' | 'waitfall';
  spans?: 'lazy' | 'api';
  /** Also the official http instrumentation. */
  http?: boolean;
}

/** Starts an SDK that keeps spans in memory. To be called before `pg` is required. */
export function startRecording(options: RecordingOptions = {}): Recording {
  const exporter = new InMemorySpanExporter();
  // Constructing an instrumentation patches: only what is asked for is made, in the order asked for.
  const make = { official: () => new PgInstrumentation(), waitfall: () => new WaitfallInstrumentation() };
  const order =
    options.first === 'waitfall' ? (['waitfall', 'official'] as const) : (['official', 'waitfall'] as const);
  const instrumentations: Instrumentation[] = order
    .filter((name) => name === 'waitfall' || options.official !== false)
    .map((name) => make[name]());
  const provider = new TracerProvider({
    spanProcessors: [
      new WaitfallSpanProcessor(new SimpleSpanProcessor({ exporter }), { spans: options.spans }),
    ],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  if (options.http) {
    instrumentations.push(new HttpInstrumentation());
    // Core modules are patched when they are required.
    createRequire(import.meta.url)('http');
  }
  registerInstrumentations({ instrumentations });
  const spans = () => exporter.getFinishedSpans().map(recorded);
  return {
    spans,
    segment: (name) =>
      spans()
        .filter((span) => span.attributes['waitfall.segment'] === name)
        .sort((a, b) => a.startMs - b.startMs),
    clear: () => exporter.reset(),
    stop: () => provider.shutdown(),
  };
}

const originSeconds = Math.floor(performance.timeOrigin / 1e3);

function recorded(span: ReadableSpan): Recorded {
  const ms = ([seconds, nanos]: [number, number]) => (seconds - originSeconds) * 1e3 + nanos / 1e6;
  const startMs = ms(span.startTime);
  const endMs = ms(span.endTime);
  return {
    name: span.name,
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
    parentId: span.parentSpanContext?.spanId,
    scope: span.instrumentationScope.name,
    kind: span.kind,
    startMs,
    endMs,
    endEpochMs: endMs + originSeconds * 1e3,
    lengthMs: endMs - startMs,
    attributes: span.attributes,
    links: span.links.map((link) => ({ ...link.context, attributes: link.attributes ?? {} })),
    failed: span.status.code === 2,
  };
}

/** Runs something as one request: its root span is a SERVER span. @returns the trace id and the result. */
export async function request<T>(
  run: (context: Context) => Promise<T>,
): Promise<{ traceId: string; value: T }> {
  const span = trace.getTracer('test').startSpan('request', { kind: SpanKind.SERVER }, context.active());
  const active = trace.setSpan(context.active(), span);
  try {
    return { traceId: span.spanContext().traceId, value: await context.with(active, () => run(active)) };
  } finally {
    span.end();
  }
}
