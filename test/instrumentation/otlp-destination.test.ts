import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpanKind } from '@opentelemetry/api';
import { OtlpDestination } from '../../instrumentation/src/export/otlp-destination.ts';
import { OtlpSender, otlpTargetFromEnv } from '../../instrumentation/src/export/otlp-sender.ts';
import { StandaloneProvider } from '../../instrumentation/src/standalone/provider.ts';
import { samplerFromEnv } from '../../instrumentation/src/standalone/sampler.ts';
import { decodeRequest } from './support/otlp-decode.ts';

/** A collector that keeps what it is sent, and answers as it is told. */
async function startCollector(answer: (request: number) => Promise<number>) {
  const bodies: Buffer[] = [];
  let requests = 0;
  const server = createServer(async (request, response) => {
    const number = requests++;
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk);
      // A body that lies in the socket while the service goes on.
      await sleep(1);
    }
    response.statusCode = await answer(number);
    if (response.statusCode === 200) bodies.push(Buffer.concat(chunks));
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`);
  return { server, bodies, url };
}

function startService(url: URL) {
  const target = { url, headers: {}, timeoutMs: 5_000, compress: false };
  const destination = new OtlpDestination(new OtlpSender(target));
  const resource = { attributes: { 'service.name': 'orders' } };
  const provider = new StandaloneProvider(resource, samplerFromEnv({})!, [destination]);
  return { destination, provider };
}

test('what is encoded while older spans are still being sent never ends up in them', async () => {
  const collector = await startCollector(async (request) => {
    await sleep(15);
    return request % 3 === 1 ? 503 : 200;
  });
  const { destination, provider } = startService(collector.url);
  const tracer = provider.getTracer('orders', '1.0');
  const other = provider.getTracer('stock');
  const COUNT = 6_000;
  for (let i = 0; i < COUNT; i++) {
    const span = (i % 7 === 0 ? other : tracer).startSpan(`order ${i}`, { kind: SpanKind.SERVER });
    span.setAttribute('order', `number ${i} ${'x'.repeat(i % 200)}`);
    span.end();
    if (i % 50 === 0) await sleep(1);
  }
  await provider.shutdown();
  collector.server.close();
  const spans = collector.bodies.flatMap((body) => decodeRequest(body));
  assert.equal(destination.dropped, 0);
  assert.equal(spans.length, COUNT);
  assert.equal(new Set(spans.map(({ name }) => name)).size, COUNT);
  for (const { name, attributes } of spans) {
    const i = Number(name.slice('order '.length));
    assert.equal(attributes['order'], `number ${i} ${'x'.repeat(i % 200)}`);
  }
});

test('spans of code that never returns to the event loop are not kept as objects without end', async () => {
  const collector = await startCollector(async () => 200);
  const { destination, provider } = startService(collector.url);
  const tracer = provider.getTracer('orders');
  const text = 'y'.repeat(4_000);
  for (let i = 0; i < 5_000; i++) tracer.startSpan('one of many').setAttribute('text', text).end();
  // 8 MiB of 4 kB each are kept, and what was not sealed yet.
  assert.ok(destination.dropped > 1_000, `${destination.dropped} dropped`);
  await provider.shutdown();
  collector.server.close();
  const sent = collector.bodies.flatMap((body) => decodeRequest(body)).length;
  assert.equal(sent + destination.dropped, 5_000);
});

test('a header whose percent signs encode nothing is sent as it stands', () => {
  const target = otlpTargetFromEnv({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a%zz:b@collector:4318',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-share=50%,x-key=k%20v',
  });
  assert.deepEqual(target?.headers, { 'x-share': '50%', 'x-key': 'k v' });
  assert.doesNotThrow(() => new OtlpSender(target!));
});
