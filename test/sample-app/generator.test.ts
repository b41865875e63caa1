import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ClientSpanWriter } from '../../sample-app/src/load/client-spans.ts';
import { Generator } from '../../sample-app/src/load/generator.ts';
import { loadFile } from '../../sample-app/src/load/load-file.ts';
import { checkManifest } from '../../sample-app/src/load/manifest.ts';

const servers: Server[] = [];
const directory = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
after(() => {
  for (const server of servers) server.close().closeAllConnections();
  rmSync(directory, { recursive: true });
});

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<URL> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

async function offer(target: URL, manifest: object, spans?: ClientSpanWriter) {
  const checked = checkManifest(
    { requests: [{ name: 'get', share: 1, method: 'GET', path: '/' }], ...manifest },
    'test',
  );
  const generator = new Generator(checked, { target, ...(spans ? { spans } : {}) });
  const steps = await generator.run();
  return loadFile(checked, steps, generator.conservation(), false);
}

const step = (arrivalsPerSecond: number, seconds: number) => ({
  phase: 'steady',
  arrivalsPerSecond,
  seconds,
});

test('open model: every planned request is sent, in the step it was planned in', async () => {
  const target = await serve((_request, response) => response.end('ok'));
  const load = await offer(target, { steps: [step(40, 0.5), step(80, 0.5)] });
  assert.deepEqual(
    load.steps.map(({ planned, started, succeeded, dropped }) => [planned, started, succeeded, dropped]),
    [
      [20, 20, 20, 0],
      [40, 40, 40, 0],
    ],
  );
  assert.equal(BigInt(load.steps[1]!.startUnixNano), BigInt(load.steps[0]!.endUnixNano));
  assert.ok(load.invariants.every((invariant) => invariant.holds));
});

test('connections that the manifest asks for are open before the first request, which is the first that is counted', async () => {
  let sockets = 0;
  const seen: { readonly path: string; readonly traceparent: string; readonly sockets: number }[] = [];
  const target = await serve((request, response) => {
    seen.push({ path: request.url!, traceparent: String(request.headers['traceparent']), sockets });
    response.end('ok');
  });
  servers.at(-1)!.on('connection', () => {
    sockets++;
  });
  const load = await offer(target, { connect: { count: 12, path: '/health' }, steps: [step(40, 0.25)] });
  assert.equal(load.steps[0]!.planned, 10);
  assert.equal(load.steps[0]!.succeeded, 10);
  const opening = seen.filter(({ path }) => path === '/health');
  assert.equal(opening.length, 12);
  assert.ok(opening.every(({ traceparent }) => traceparent.endsWith('-00')));
  assert.ok(seen.filter(({ path }) => path === '/').every((request) => request.sockets === 12));
});

test('a service that never answers while connections are opened holds nothing up, nor does an end meanwhile', async () => {
  const target = await serve((request, response) => {
    if (request.url === '/') response.end('ok');
  });
  const connect = { count: 3, path: '/health' };
  const load = await offer(target, { timeoutMs: 60, connect, steps: [step(20, 0.25)] });
  assert.equal(load.steps[0]!.succeeded, 5);
  const manifest = checkManifest(
    {
      connect,
      steps: [step(20, 0.25)],
      requests: [{ name: 'get', share: 1, method: 'GET', path: '/' }],
    },
    'test',
  );
  const generator = new Generator(manifest, { target });
  const ended = generator.run();
  setTimeout(() => generator.interrupt(), 100);
  assert.deepEqual(await ended, []);
});

test('a service that refuses to be connected to is measured as such', async () => {
  const load = await offer(new URL('http://127.0.0.1:1'), {
    connect: { count: 3, path: '/health' },
    steps: [step(20, 0.25)],
  });
  assert.equal(load.steps[0]!.transportFailed, 5);
});

test('an answer that never comes is a timeout, and its latency "at least" the limit', async () => {
  const target = await serve(() => {});
  const load = await offer(target, { timeoutMs: 60, steps: [step(20, 0.25)] });
  const [result] = load.steps;
  assert.equal(result!.timedOut, 5);
  assert.equal(result!.latencyFromSentNs.atLeast, 5);
  assert.ok(result!.latencyFromSentNs.p50! >= 59e6);
  assert.deepEqual(load.conservation, {
    inFlightStart: 0,
    entered: 5,
    succeeded: 0,
    failed: 5,
    cancelled: 0,
    inFlightEnd: 0,
  });
});

test('few virtual users: what finds none free is dropped, planned = started + dropped', async () => {
  const target = await serve((_request, response) => void setTimeout(() => response.end('ok'), 200));
  const load = await offer(target, { maxInFlight: 1, steps: [step(50, 0.5)] });
  const { planned, started, dropped } = load.steps[0]!;
  assert.equal(planned, 25);
  assert.ok(started <= 3 && started >= 1, `${started} started`);
  assert.equal(started + dropped, planned);
});

test('closed model: no more requests are open than there are users', async () => {
  let open = 0;
  let most = 0;
  const target = await serve((_request, response) => {
    most = Math.max(most, ++open);
    setTimeout(() => {
      open--;
      response.end('ok');
    }, 20);
  });
  const load = await offer(target, { model: 'closed', steps: [{ phase: 'steady', users: 3, seconds: 0.4 }] });
  const result = load.steps[0]!;
  assert.equal(most, 3);
  assert.equal(result.users, 3);
  assert.ok(result.succeeded > 3 && result.succeeded <= 60, `${result.succeeded}`);
});

test('a request that timed out is sent again, up to the number of attempts', async () => {
  let seen = 0;
  const target = await serve((_request, response) => {
    if (++seen % 3 === 0) response.end('ok');
  });
  const path = join(directory, 'traces-repeated.jsonl');
  const spans = await ClientSpanWriter.open(path, target, true);
  const load = await offer(target, { timeoutMs: 50, attempts: 3, steps: [step(4, 0.25)] }, spans);
  await spans.close();
  const { planned, succeeded, attempts, latencyFromPlannedNs } = load.steps[0]!;
  assert.deepEqual([planned, succeeded, attempts], [1, 1, 3]);
  assert.ok(latencyFromPlannedNs.p50! >= 99e6, 'both lost attempts are in it');
  // biome-ignore lint/suspicious/noExplicitAny: the text is what is tested
  const all: any[] = JSON.parse(readFileSync(path, 'utf8')).resourceSpans[0].scopeSpans[0].spans;
  const root = all.find((span) => span.parentSpanId === undefined);
  const sent = all.filter((span) => span.kind === 3);
  assert.equal(root.kind, 1);
  assert.deepEqual(
    sent.map((span) => [span.parentSpanId, span.status.code]),
    [
      [root.spanId, 2],
      [root.spanId, 2],
      [root.spanId, undefined],
    ],
  );
});

test('nobody listens: the transport failed, and nothing is thrown', async () => {
  const target = await serve(() => {});
  const server = servers.pop()!;
  server.close();
  const load = await offer(target, { steps: [step(10, 0.2)] });
  assert.equal(load.steps[0]!.transportFailed, 2);
});

test('an interrupted load ends at once, open requests count as cancelled', async () => {
  const target = await serve(() => {});
  const manifest = checkManifest(
    { requests: [{ name: 'get', share: 1, method: 'GET', path: '/' }], steps: [step(20, 60)] },
    'test',
  );
  const generator = new Generator(manifest, { target });
  setTimeout(() => generator.interrupt(), 600);
  const steps = await generator.run();
  const load = loadFile(manifest, steps, generator.conservation(), true);
  assert.ok(load.conservation.cancelled > 0);
  assert.equal(load.conservation.inFlightEnd, 0);
  assert.ok(
    load.invariants.every((invariant) => invariant.holds),
    JSON.stringify(load.invariants),
  );
});

test('client spans: OTLP lines, one root a request that begins with its generator wait and travels on', async () => {
  const seen: string[] = [];
  const target = await serve((request, response) => {
    seen.push(String(request.headers['traceparent']));
    response.statusCode = request.url === '/full' ? 503 : 200;
    response.end('ok');
  });
  const path = join(directory, 'traces-load.jsonl');
  const spans = await ClientSpanWriter.open(path, target, false);
  await offer(
    target,
    {
      requests: [
        { name: 'ok', share: 1, method: 'GET', path: '/ok/7', route: '/ok/:id' },
        { name: 'full', share: 1, method: 'GET', path: '/full' },
      ],
      steps: [step(40, 0.5)],
    },
    spans,
  );
  await spans.close();
  const all = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    // biome-ignore lint/suspicious/noExplicitAny: the text is what is tested
    .flatMap((line) => JSON.parse(line).resourceSpans[0].scopeSpans[0].spans as any[]);
  const roots = all.filter((span) => span.parentSpanId === undefined);
  assert.equal(roots.length, 20);
  assert.deepEqual(roots.map((span) => `00-${span.traceId}-${span.spanId}-01`).sort(), seen.sort());
  for (const root of roots) {
    assert.match(root.traceId, /^[0-9a-f]{32}$/);
    assert.match(root.startTimeUnixNano, /^\d{19}$/);
    assert.equal(root.kind, 3);
    assert.equal(root.status.code, root.name === 'GET /full' ? 2 : undefined);
    assert.ok(['GET /full', 'GET /ok/:id'].includes(root.name));
    const wait = all.find((span) => span.parentSpanId === root.spanId);
    assert.equal(wait.startTimeUnixNano, root.startTimeUnixNano);
    assert.ok(BigInt(wait.endTimeUnixNano) <= BigInt(root.endTimeUnixNano));
  }
});
