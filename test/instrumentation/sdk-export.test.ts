import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { context, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import {
  httpInstrumentationHooks,
  OtlpSpanProcessor,
  WaitfallSpanProcessor,
  withWait,
} from '@waitfall/instrumentation';
import { trustQueueHeader } from '../../instrumentation/src/http/queue-header.ts';
import { decodeRequest } from './support/otlp-decode.ts';

test('an SDK exports through OtlpSpanProcessor: its spans and ours, below each other', async () => {
  const bodies: Buffer[] = [];
  const collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks));
      response.end();
    });
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`;
  const exporting = new OtlpSpanProcessor({ url });
  const provider = new TracerProvider({ spanProcessors: [new WaitfallSpanProcessor(exporting)] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const tracer = provider.getTracer('service', '2.1.0');
  const hooks = httpInstrumentationHooks();
  trustQueueHeader(true);
  const root = tracer.startSpan('GET /orders', { kind: SpanKind.SERVER });
  const startedMs = Date.now();
  hooks.requestHook(root, { headers: { 'x-request-start': String(startedMs - 120) } });
  trustQueueHeader(false);
  await context.with(trace.setSpan(context.active(), root), () =>
    withWait('printer', () => new Promise((resolve) => setTimeout(resolve, 5)), { capacity: 2 }),
  );
  hooks.applyCustomAttributesOnSpan(root, {}, { writableFinished: false });
  root.setAttribute('grüße', 'schön „zitiert“ 🎉');
  root.setAttribute('list', ['a', 'b']);
  root.setAttribute('less', -3);
  root.end();
  await provider.shutdown();
  collector.close();
  assert.equal(exporting.dropped, 0);
  const spans = bodies.flatMap((body) => decodeRequest(body));
  const server = spans.find((span) => span.name === 'GET /orders')!;
  const wait = spans.find((span) => span.name === 'wait_for printer')!;
  const queued = spans.find((span) => span.name === 'wait_for http.queue')!;
  assert.equal(spans.length, 3);
  assert.equal(wait.parentSpanId, server.spanId);
  assert.equal(queued.parentSpanId, server.spanId);
  assert.equal(queued.startTimeUnixNano, server.startTimeUnixNano);
  assert.equal(server.attributes['error.type'], 'client_closed');
  assert.equal(server.attributes['grüße'], 'schön „zitiert“ 🎉');
  assert.deepEqual(server.attributes['list'], ['a', 'b']);
  assert.equal(String(server.attributes['less']), '-3');
  const lengthMs = Number(BigInt(server.endTimeUnixNano) - BigInt(server.startTimeUnixNano)) / 1e6;
  assert.ok(lengthMs > 120 && lengthMs < 2_000, `${lengthMs} ms`);
});
