import assert from 'node:assert/strict';
import { test } from 'node:test';
import { context, type Span, SpanKind, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { WaitfallSpanProcessor } from '@waitfall/instrumentation';

const EXPRESS = '@opentelemetry/instrumentation-express';
const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({
  spanProcessors: [new WaitfallSpanProcessor(new SimpleSpanProcessor({ exporter }))],
});

/** A server span with one child of a scope; the server ends first, the child after a pause of the thread. */
function pausedBetween(scope: string, endChild = (span: Span) => span.end()): [ReadableSpan, ReadableSpan] {
  exporter.reset();
  const server = provider.getTracer('http').startSpan('GET /', { kind: SpanKind.SERVER });
  const child = provider.getTracer(scope).startSpan('handler', {}, trace.setSpan(context.active(), server));
  server.end();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  endChild(child);
  const [first, second] = exporter.getFinishedSpans();
  return [first, second];
}

test('a handler that ends by the response ends no later than its request', () => {
  const [server, handler] = pausedBetween(EXPRESS);
  assert.deepEqual(handler.endTime, server.endTime);
  const lengthNs =
    (handler.endTime[0] - handler.startTime[0]) * 1e9 + handler.endTime[1] - handler.startTime[1];
  assert.equal(handler.duration[0] * 1e9 + handler.duration[1], lengthNs);
});

test('other spans keep the end they had', () => {
  const [server, child] = pausedBetween('my-service');
  const laterMs = (child.endTime[0] - server.endTime[0]) * 1e3 + (child.endTime[1] - server.endTime[1]) / 1e6;
  assert.ok(laterMs > 3, `${laterMs}`);
});

test('a handler that ended in time keeps its end, even before its request', () => {
  const [server, handler] = pausedBetween(EXPRESS, (span) => span.end(Date.now() - 60_000));
  assert.notDeepEqual(handler.endTime, server.endTime);
});
