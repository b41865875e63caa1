import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ExportedSpan, type SpawnedService, spawnService } from './support/spawned.ts';

let service: SpawnedService;
let ports: { fastify: number; koa: number; http2: number };

before(async () => {
  service = await spawnService('frameworks.mjs', {
    WAITFALL_MODE: 'standalone',
    WAITFALL_QUEUE_HEADER: 'true',
  });
  ports = (await (await fetch(service.url)).json()) as typeof ports;
});
after(() => {
  service?.process.kill();
});

const hex = (bytes: number) => randomBytes(bytes).toString('hex');

async function spansOf(traceId: string): Promise<ExportedSpan[]> {
  for (let i = 0; i < 100; i++) {
    await sleep(50);
    try {
      const spans = service.spans().filter((span) => span.traceId === traceId);
      if (spans.some((span) => span.kind === 2)) return spans;
    } catch {
      // Not written yet.
    }
  }
  throw new Error(`no server span of ${traceId}`);
}

async function get(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ spans: ExportedSpan[]; root: ExportedSpan; traceId: string; body: { traceId?: string } }> {
  const traceId = hex(16);
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { traceparent: `00-${traceId}-${hex(8)}-01`, ...headers },
  });
  const body = (await answer.json().catch(() => ({}))) as { traceId?: string };
  const spans = await spansOf(traceId);
  return { spans, root: spans.find((span) => span.kind === 2)!, traceId, body };
}

for (const framework of ['fastify', 'koa'] as const) {
  test(`${framework}: the route is the span's name, its parameters are not`, async () => {
    const { root, traceId, body } = await get(ports[framework], '/users/42?q=1');
    assert.equal(root.name, 'GET /users/:id');
    assert.equal(root.attributes['http.route'], '/users/:id');
    assert.equal(root.attributes['url.path'], '/users/42');
    assert.equal(body.traceId, traceId);
    assert.equal((await get(ports[framework], '/api/users/42')).root.name, 'GET /api/users/:id');
    const missing = await get(ports[framework], '/nowhere/7');
    assert.equal(missing.root.attributes['http.route'], undefined);
    assert.equal(missing.root.name, 'GET');
  });
}

test('HTTP/2: one span a stream, its context in the handler and in the events of the body', async () => {
  const session = connect(`http://127.0.0.1:${ports.http2}`);
  const sent = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const traceId = hex(16);
      const stream = session.request({
        ':path': `/items/${i}`,
        ':method': 'POST',
        traceparent: `00-${traceId}-${hex(8)}-01`,
      });
      stream.end('body');
      let text = '';
      stream.on('data', (chunk) => {
        text += chunk;
      });
      await once(stream, 'end');
      return { traceId, text };
    }),
  );
  session.close();
  for (const { traceId, text } of sent) {
    assert.equal(text, traceId);
    const servers = (await spansOf(traceId)).filter((span) => span.kind === 2);
    assert.equal(servers.length, 1);
    assert.equal(servers[0].attributes['network.protocol.version'], '2');
    assert.equal(servers[0].attributes['http.response.status_code'], '200');
    assert.equal(servers[0].attributes['error.type'], undefined);
  }
});

test('HTTP/2: a stream that the client cancels ends its span once, as left by the client', async () => {
  const session = connect(`http://127.0.0.1:${ports.http2}`);
  const traceId = hex(16);
  const stream = session.request({ ':path': '/slow', traceparent: `00-${traceId}-${hex(8)}-01` });
  stream.on('error', () => {});
  stream.end();
  await sleep(40);
  stream.close(8);
  await sleep(300);
  session.close();
  const servers = (await spansOf(traceId)).filter((span) => span.kind === 2);
  assert.equal(servers.length, 1);
  assert.equal(servers[0].attributes['error.type'], 'client_closed');
});

test('outside of requests no context is active, also after requests have run', async () => {
  await Promise.all(Array.from({ length: 20 }, () => fetch(`http://127.0.0.1:${ports.fastify}/users/1`)));
  await sleep(60);
  assert.deepEqual(await (await fetch(`${service.url}/outside`)).json(), { outside: 'none' });
});

test('X-Request-Start: the request begins where the proxy took it, as a wait of its own', async () => {
  const waitedMs = 250;
  const { spans, root } = await get(ports.koa, '/users/1', {
    'x-request-start': `t=${((Date.now() - waitedMs) / 1e3).toFixed(3)}`,
  });
  const wait = spans.find((span) => span.attributes['waitfall.segment'] === 'admission_wait');
  assert.ok(wait !== undefined);
  assert.equal(wait.name, 'wait_for http.queue');
  assert.equal(wait.parentSpanId, root.spanId);
  assert.equal(wait.startTimeUnixNano, root.startTimeUnixNano);
  assert.equal(wait.attributes['waitfall.estimated'], true);
  const lengthMs = Number(BigInt(wait.endTimeUnixNano) - BigInt(wait.startTimeUnixNano)) / 1e6;
  assert.ok(lengthMs >= waitedMs - 2 && lengthMs < waitedMs + 2_000, `${lengthMs} ms`);
  assert.ok(Number(root.attributes['waitfall.time.admission_wait_ns']) >= (waitedMs - 2) * 1e6);
});

test('X-Request-Start: a time in the future, or long ago, is not believed', async () => {
  for (const value of [`${Date.now() + 60_000}`, `${Date.now() - 3_600_000}`, 'soon']) {
    const { spans } = await get(ports.koa, '/users/1', { 'x-queue-start': value });
    assert.ok(!spans.some((span) => span.attributes['waitfall.segment'] === 'admission_wait'), value);
  }
});
