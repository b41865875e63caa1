import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get as httpGet, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase } from '../../sample-app/src/postgres/database.ts';
import { type ExportedSpan, type SpawnedService, spawnService } from './support/spawned.ts';

let database: Database;
let service: SpawnedService;

before(async () => {
  database = await openDatabase();
  service = await spawnService('everything.mjs', { DATABASE_URL: database.url, WAITFALL_MODE: 'standalone' });
});
after(async () => {
  service?.process.kill();
  await database?.close();
});

const hex = (bytes: number) => randomBytes(bytes).toString('hex');

/** Sends a request under a trace of its own. @returns the trace and span id that were sent. */
async function send(
  path: string,
  init: RequestInit = {},
): Promise<{ traceId: string; parentId: string; answer: Response }> {
  const traceId = hex(16);
  const parentId = hex(8);
  const answer = await fetch(service.url + path, {
    ...init,
    headers: { ...init.headers, traceparent: `00-${traceId}-${parentId}-01`, 'x-trace': traceId },
  });
  await answer.clone().arrayBuffer();
  return { traceId, parentId, answer };
}

/** @returns the spans of a trace once its server span is in the file. */
async function traceOf(traceId: string): Promise<ExportedSpan[]> {
  for (let i = 0; i < 100; i++) {
    await sleep(50);
    let spans: ExportedSpan[] = [];
    try {
      spans = service.spans().filter((span) => span.traceId === traceId);
    } catch {
      // Not written yet.
    }
    if (spans.some((span) => span.kind === 2)) return spans;
  }
  throw new Error(`no server span of ${traceId}`);
}

async function serverSpan(path: string, init?: RequestInit): Promise<ExportedSpan> {
  const { traceId } = await send(path, init);
  const spans = (await traceOf(traceId)).filter((span) => span.kind === 2);
  assert.equal(spans.length, 1);
  return spans[0];
}

test('200 requests at once: every span in its own trace, below the right parent', async () => {
  const sent = await Promise.all(Array.from({ length: 200 }, (_, i) => send(`/users/${i}`)));
  await traceOf(sent.at(-1)!.traceId);
  await sleep(500);
  const all = service.spans();
  for (const { traceId, parentId } of sent) {
    const spans = all.filter((span) => span.traceId === traceId);
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const [root] = spans.filter((span) => span.kind === 2);
    assert.equal(root.parentSpanId, parentId);
    assert.equal(root.name, 'GET /users/:id');
    assert.equal(root.attributes['http.route'], '/users/:id');
    assert.equal(root.attributes['http.request.method'], 'GET');
    assert.equal(root.attributes['http.response.status_code'], '200');
    assert.ok(root.attributes['user.id'] !== undefined, 'set by the service on the active span');
    const queries = spans.filter((span) => span.name.startsWith('pg.query'));
    assert.equal(queries.length, 2);
    assert.deepEqual(queries.map((span) => byId.get(span.parentSpanId ?? '')?.name).sort(), [
      'GET /users/:id',
      'own span',
    ]);
    const waits = spans.filter((span) => span.attributes['waitfall.segment'] === 'pool_wait');
    assert.equal(waits.length, 2);
    for (const span of spans) {
      if (span === root) continue;
      const parent = byId.get(span.parentSpanId ?? '');
      assert.ok(parent, span.name);
      assert.ok(
        BigInt(span.startTimeUnixNano) >= BigInt(parent.startTimeUnixNano),
        `${span.name} starts in ${parent.name}`,
      );
    }
  }
  assert.deepEqual(await (await fetch(`${service.url}/lost`)).json(), []);
});

test('bodies keep the context, read as JSON or by hand', async () => {
  for (const path of ['/json', '/raw']) {
    const traceId = hex(16);
    const headers = {
      'content-type': 'application/json',
      traceparent: `00-${traceId}-${hex(8)}-01`,
      'x-trace': traceId,
    };
    const request = httpRequest(service.url + path, { method: 'POST', headers });
    request.write('{"a":');
    await sleep(10);
    request.end('1}');
    const [response] = await once(request, 'response');
    response.resume();
    await once(response, 'end');
    assert.equal(response.statusCode, 200);
  }
  assert.deepEqual(await (await fetch(`${service.url}/lost`)).json(), []);
});

test('failures: a 500 is an error, a 404 has no route, an exception is an event', async () => {
  const failed = await serverSpan('/error');
  assert.equal(failed.status.code, 2);
  assert.equal(failed.attributes['error.type'], '500');
  assert.equal(failed.name, 'GET /error');
  const missing = await serverSpan('/nowhere/1');
  assert.equal(missing.name, 'GET');
  assert.equal(missing.status.code, undefined);
  assert.equal(missing.attributes['http.response.status_code'], '404');
  const said = await serverSpan('/exception');
  assert.equal(said.name, 'renamed');
  assert.deepEqual(said.status, { code: 2, message: 'said so' });
  const events = (said as unknown as { events: { name: string }[] }).events;
  assert.deepEqual(
    events.map((event) => event.name),
    ['exception', 'noted'],
  );
});

test('routes under mounted routers have few names', async () => {
  assert.equal((await serverSpan('/v1/items/7?q=1')).name, 'GET /v1/items/:item');
  const span = await serverSpan('/orgs/42/items/9');
  assert.equal(span.attributes['http.route'], '/orgs/:org/items/:item');
  assert.equal(span.attributes['url.path'], '/orgs/42/items/9');
  assert.equal((await serverSpan('/orgs/42')).attributes['http.route'], '/orgs/:org');
  assert.equal((await serverSpan('/v1/items/7?q=1')).attributes['url.query'], 'q=1');
  assert.equal(
    (await serverSpan('/apps/a/deep/things/7')).attributes['http.route'],
    '/apps/:app/deep/things/:thing',
  );
  assert.equal(
    (await serverSpan('/street/houses/3/rooms/4')).attributes['http.route'],
    '/street/houses/:house/rooms/:room',
  );
});

test('a client that leaves ends the span once, before and in the middle of the response', async () => {
  for (const path of ['/slow?ms=150', '/stream']) {
    const traceId = hex(16);
    const request = httpGet(service.url + path, { headers: { traceparent: `00-${traceId}-${hex(8)}-01` } });
    request.on('error', () => {});
    if (path === '/stream')
      await once(request, 'response').then(([response]) => response.on('error', () => {}));
    else await sleep(30);
    request.destroy();
    const spans = (await traceOf(traceId)).filter((span) => span.kind === 2);
    await sleep(250);
    assert.equal(spans.length, 1);
    assert.equal(service.spans().filter((span) => span.traceId === traceId && span.kind === 2).length, 1);
    assert.equal(spans[0].attributes['error.type'], 'client_closed');
    assert.equal(spans[0].attributes['http.response.status_code'], path === '/stream' ? '200' : undefined);
  }
});

test('a streamed response lasts to its end', async () => {
  const span = await serverSpan('/stream');
  assert.ok(Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) >= 49e6);
});

test('pipelined requests: three spans, also when the connection breaks while all are open', async () => {
  for (const breaks of [false, true]) {
    const traces = [hex(16), hex(16), hex(16)];
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      traces
        .map(
          (id) =>
            `GET /slow?ms=60 HTTP/1.1\r\nHost: x\r\ntraceparent: 00-${id}-${hex(8)}-01\r\nx-trace: ${id}\r\n\r\n`,
        )
        .join(''),
    );
    await sleep(breaks ? 25 : 400);
    socket.destroy();
    for (const traceId of traces) {
      assert.equal((await traceOf(traceId)).filter((span) => span.kind === 2).length, 1);
    }
  }
});

test('trace state and baggage go in and out, and a broken traceparent begins a new trace', async () => {
  const traceId = 'a'.repeat(32);
  const answer = await fetch(`${service.url}/context`, {
    headers: { traceparent: `00-${traceId}-${'b'.repeat(16)}-01`, tracestate: 'x=1', baggage: 'k=v1' },
  });
  const { carrier, baggage } = (await answer.json()) as { carrier: Record<string, string>; baggage: string };
  assert.equal(baggage, 'v1');
  assert.match(carrier['traceparent'], new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  assert.equal(carrier['tracestate'], 'x=1');
  assert.equal(carrier['baggage'], 'k=v1');
  for (const broken of [
    `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
    `ff-${traceId}-${'b'.repeat(16)}-01`,
    `00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId}-${'b'.repeat(16)}-01-x`,
    'nonsense',
  ]) {
    const response = await fetch(`${service.url}/context`, { headers: { traceparent: broken } });
    const { carrier: own } = (await response.json()) as { carrier: Record<string, string> };
    assert.match(own['traceparent'], /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    assert.ok(!own['traceparent'].includes(traceId), broken);
  }
});

test('an unsampled parent is followed: no span, and the decision goes on', async () => {
  const traceId = hex(16);
  const headers = { traceparent: `00-${traceId}-${hex(8)}-00` };
  const answer = await fetch(`${service.url}/context`, { headers });
  const { carrier } = (await answer.json()) as { carrier: Record<string, string> };
  assert.match(carrier['traceparent'], new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  await serverSpan('/v1/items/1');
  assert.equal(service.spans().filter((span) => span.traceId === traceId).length, 0);
});

test('OTLP: batches of protobuf arrive, are tried again, and the exporter does not trace itself', async () => {
  const { decodeRequest } = await import('./support/otlp-decode.ts');
  const bodies: Buffer[] = [];
  let refused = 0;
  const collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      assert.equal(request.url, '/v1/traces');
      assert.equal(request.headers['content-type'], 'application/x-protobuf');
      assert.equal(request.headers['x-key'], 'k v');
      if (refused++ === 0) {
        response.writeHead(503, { 'retry-after': '1' }).end();
        return;
      }
      bodies.push(Buffer.concat(chunks));
      response.end();
    });
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const other = await spawnService('everything.mjs', {
    DATABASE_URL: database.url,
    WAITFALL_MODE: 'standalone',
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=k%20v',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  });
  await Promise.all(Array.from({ length: 20 }, (_, i) => fetch(`${other.url}/users/${i}`)));
  assert.equal((await fetch(`${other.url}/exception`)).status, 200);
  assert.equal(await other.stop(), 0);
  collector.close();
  const decoded = bodies.flatMap((body) => decodeRequest(body));
  const written = other.spans();
  assert.deepEqual(
    decoded
      .map((span) => `${span.traceId} ${span.spanId} ${span.parentSpanId} ${span.name} ${span.kind}`)
      .sort(),
    written
      .map((span) => `${span.traceId} ${span.spanId} ${span.parentSpanId ?? ''} ${span.name} ${span.kind}`)
      .sort(),
  );
  const byId = new Map(written.map((span) => [span.spanId, span]));
  for (const span of decoded) {
    const same = byId.get(span.spanId)!;
    assert.equal(span.startTimeUnixNano, same.startTimeUnixNano);
    assert.equal(span.endTimeUnixNano, same.endTimeUnixNano);
    const text = (value: unknown) => String(value);
    assert.deepEqual(
      Object.fromEntries(Object.entries(span.attributes).map(([key, value]) => [key, text(value)])),
      Object.fromEntries(Object.entries(same.attributes).map(([key, value]) => [key, text(value)])),
    );
    assert.equal(span.resource['deployment.environment.name'], 'test');
    assert.equal(span.resource['service.name'], 'shop');
  }
  assert.ok(!written.some((span) => span.name === 'POST' || span.attributes['url.full'] !== undefined));
});
