import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { context, SpanKind, trace } from '@opentelemetry/api';
import { type Admission, type AdmissionOptions, admission } from '@waitfall/instrumentation';
import express from 'express';
import { type Recording, startRecording } from './support/recording.ts';

let recording: Recording;
const servers: { close(): void }[] = [];

before(() => {
  recording = startRecording({ official: false });
});
after(() => recording.stop());
beforeEach(() => recording.clear());
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A plain `http` server whose handler answers when the test says so, each request under a span of its own. */
async function gated(options: AdmissionOptions) {
  const gate: Admission = admission(options);
  const started: { res: ServerResponse; user: string | undefined }[] = [];
  const users = new AsyncLocalStorage<string>();
  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    const span = trace.getTracer('test').startSpan('request', { kind: SpanKind.SERVER });
    res.once('close', () => span.end());
    context.with(trace.setSpan(context.active(), span), () =>
      users.run(req.url ?? '', () => gate(req, res, () => started.push({ res, user: users.getStore() }))),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  servers.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return {
    gate,
    started,
    get: (path: string) => fetch(`http://127.0.0.1:${port}${path}`),
    port,
    /** Waits until the gate has seen so many requests, by any count. */
    async until(check: () => boolean) {
      while (!check()) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('admits as many as it may, queues as many as it may, and answers 503 to the rest', async () => {
  const { gate, started, get, until } = await gated({ maxConcurrent: 2, maxQueue: 3 });
  const answers = [];
  for (let i = 0; i < 5; i++) {
    answers.push(get(`/${i}`));
    await until(() => gate.stats().active + gate.stats().waiting === i + 1);
  }
  const refused = await get('/refused');
  assert.equal(refused.status, 503);
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assert.deepEqual(Object.keys((await refused.json()) as object), ['error', 'reason', 'retryAfterSeconds']);
  assert.deepEqual(gate.stats(), {
    active: 2,
    waiting: 3,
    executed: 2,
    rejected: 1,
    timedOut: 0,
    aborted: 0,
  });
  for (let i = 0; i < 5; i++) {
    await until(() => started.length > i);
    started[i].res.end(`answer ${i}`);
  }
  assert.deepEqual(
    await Promise.all(answers.map(async (answer) => (await answer).status)),
    [200, 200, 200, 200, 200],
  );
  // First come, first served, each in its own async context.
  assert.deepEqual(
    started.map(({ user }) => user),
    ['/0', '/1', '/2', '/3', '/4'],
  );
  await until(() => gate.stats().active === 0);
  assert.deepEqual(gate.stats(), {
    active: 0,
    waiting: 0,
    executed: 5,
    rejected: 1,
    timedOut: 0,
    aborted: 0,
  });

  const waits = recording.segment('admission_wait');
  const admitted = waits.filter((span) => span.attributes['waitfall.outcome'] === 'acquired');
  assert.equal(admitted.length, 5);
  assert.deepEqual(
    admitted.map((span) => [
      span.attributes['waitfall.resource.in_use'],
      span.attributes['waitfall.resource.queue_depth'],
    ]),
    [
      [0, 0],
      [1, 0],
      [2, 0],
      [2, 1],
      [2, 2],
    ],
  );
  for (const [index, span] of admitted.entries()) {
    assert.equal(span.name, 'wait_for http.server');
    assert.equal(span.attributes['waitfall.resource.capacity'], 2);
    assert.ok((span.attributes['waitfall.hold.duration_ns'] as number) > 0);
    assert.equal(span.lengthMs > 0, index >= 2);
  }
  const [rejected] = waits.filter((span) => span.attributes['waitfall.outcome'] === 'rejected');
  assert.equal(rejected.attributes['error.type'], 'queue_full');
  assert.equal(rejected.failed, true);
});

test('who waits too long gets a 503 that says so, and its place goes to the next', async () => {
  const { gate, started, get, until } = await gated({
    maxConcurrent: 1,
    maxQueue: 1,
    timeoutMs: 40,
    name: 'gate',
  });
  const first = get('/first');
  await until(() => started.length === 1);
  const late = await get('/late');
  assert.equal(late.status, 503);
  assert.equal(((await late.json()) as { reason: string }).reason, 'timeout');
  started[0].res.end();
  await first;
  await until(() => gate.stats().active === 0);
  assert.deepEqual(gate.stats(), {
    active: 0,
    waiting: 0,
    executed: 1,
    rejected: 0,
    timedOut: 1,
    aborted: 0,
  });
  const [span] = recording.segment('admission_wait').filter((wait) => wait.failed);
  assert.equal(span.attributes['waitfall.outcome'], 'timeout');
  assert.equal(span.attributes['waitfall.resource'], 'gate');
  assert.ok(span.lengthMs >= 39);
});

test('a client that leaves while it waits takes no slot; one that leaves while it is served frees it once', async () => {
  const { gate, started, port, until } = await gated({ maxConcurrent: 1, maxQueue: 2 });
  const open = (path: string) => {
    const request = httpRequest({ port, path });
    request.on('error', () => {});
    request.end();
    return request;
  };
  const served = open('/served');
  await until(() => started.length === 1);
  const leaves = open('/leaves');
  await until(() => gate.stats().waiting === 1);
  leaves.destroy();
  await until(() => gate.stats().aborted === 1);
  served.destroy();
  await until(() => gate.stats().active === 0);
  // The handler answers a client that is gone: nothing is freed twice.
  started[0].res.end('too late');
  const next = open('/next');
  await until(() => started.length === 2);
  assert.equal(gate.stats().active, 1);
  next.destroy();
  await until(() => gate.stats().active === 0);
  assert.deepEqual(gate.stats(), {
    active: 0,
    waiting: 0,
    executed: 2,
    rejected: 0,
    timedOut: 0,
    aborted: 1,
  });
  const outcomes = recording.segment('admission_wait').map((span) => span.attributes['waitfall.outcome']);
  assert.deepEqual(outcomes.sort(), ['aborted', 'acquired', 'acquired']);
});

test('express: Server-Timing says queue and work, beside what the service says', async () => {
  const app = express();
  const gate = admission({ maxConcurrent: 1, maxQueue: 5 });
  app.use(gate);
  app.get('/', (_req, res) => {
    res.setHeader('Server-Timing', 'db;dur=1');
    setTimeout(() => res.json({ ok: true }), 20);
  });
  const server = app.listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const timings = await Promise.all(
    [1, 2].map(async () => {
      const answer = await fetch(url);
      assert.equal(answer.status, 200);
      return answer.headers.get('server-timing') ?? '';
    }),
  );
  const queues = timings.map((timing) => {
    const match = /^db;dur=1, queue;dur=(\d+\.\d), work;dur=(\d+\.\d)$/.exec(timing);
    assert.ok(match, timing);
    assert.ok(Number(match[2]) >= 19);
    return Number(match[1]);
  });
  assert.equal(Math.min(...queues), 0);
  assert.ok(Math.max(...queues) > 10);
});

test('it adds one listener to a response, and none stays', async () => {
  const { gate, started, get, until } = await gated({ maxConcurrent: 1 });
  const answer = get('/');
  await until(() => started.length === 1);
  const { res } = started[0];
  assert.ok(res.listenerCount('close') <= 3);
  res.end();
  await answer;
  await until(() => gate.stats().active === 0);
  assert.equal(Object.hasOwn(res, 'writeHead'), false);
});

test('limits that make no sense are refused when it is made', () => {
  assert.throws(() => admission({ maxConcurrent: 0 }), /maxConcurrent must be at least 1/);
  assert.throws(() => admission({ maxConcurrent: 1, maxQueue: -1 }), /maxQueue must not be negative/);
});
