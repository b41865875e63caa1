import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { type Recorded, type Recording, request, startRecording } from '../support/recording.ts';
import { type Remote, startRemote } from './servers.ts';

let recording: Recording;
let remote: Remote;
/** Required, as the official instrumentation patches it. */
let http: typeof import('node:http');

before(async () => {
  recording = startRecording({ official: false, http: true });
  http = createRequire(import.meta.url)('http');
  registerInstrumentations({ instrumentations: [new UndiciInstrumentation()] });
  remote = await startRemote(30);
});
after(async () => {
  await remote.close();
  await recording.stop();
});
beforeEach(() => recording.clear());

const settle = () => new Promise((resolve) => setTimeout(resolve, 20));
const clientsOf = (traceId: string): Recorded[] =>
  recording.spans().filter((span) => span.kind === 2 && span.traceId === traceId);

describe('beside the official instrumentations', () => {
  test('http: one CLIENT span, theirs, with our waits below it', async () => {
    const agent = new http.Agent({ maxSockets: 1 });
    const get = () =>
      new Promise<void>((resolve) => {
        http.get(remote.origin, { agent }, (response) => response.resume().once('end', () => resolve()));
      });
    const { traceId } = await request(() => Promise.all([get(), get()]));
    await settle();
    const clients = clientsOf(traceId);
    assert.equal(clients.length, 2);
    const waits = [...recording.segment('pool_wait'), ...recording.segment('connection_wait')];
    assert.equal(recording.segment('pool_wait').length, 2);
    for (const client of clients) assert.equal(client.scope, '@opentelemetry/instrumentation-http');
    for (const wait of waits) assert.ok(clients.some((client) => client.spanId === wait.parentId));
    agent.destroy();
  });

  test('fetch: one CLIENT span, theirs, with our waits below it', async () => {
    const { traceId } = await request(async () => (await fetch(remote.origin)).text());
    await settle();
    const clients = clientsOf(traceId);
    assert.equal(clients.length, 1);
    assert.equal(clients[0].scope, '@opentelemetry/instrumentation-undici');
    const [connection] = recording.segment('connection_wait');
    assert.equal(connection.parentId, clients[0].spanId);
  });

  test('fetch with redirects: one CLIENT span for each request that went out, all theirs, none of ours', async () => {
    const server = createServer((incoming, response) => {
      const next = { '/a': '/b', '/b': '/c' }[incoming.url ?? ''];
      if (next === undefined) response.end('done');
      else response.writeHead(302, { location: next }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { traceId } = await request(async () => (await fetch(`http://127.0.0.1:${port}/a`)).text());
    await settle();
    server.close();
    server.closeAllConnections();
    const clients = clientsOf(traceId);
    assert.deepEqual(clients.map((span) => new URL(String(span.attributes['url.full'])).pathname).sort(), [
      '/a',
      '/b',
      '/c',
    ]);
    for (const client of clients) assert.equal(client.scope, '@opentelemetry/instrumentation-undici');
  });

  test('an undici pool: its queue is before their span, and our wait is not cut to it', async () => {
    const undici = createRequire(import.meta.url)('undici');
    const dispatcher = new undici.Pool(remote.origin, { connections: 1 });
    const ask = async () => (await undici.request(remote.origin, { dispatcher })).body.text();
    await request(ask);
    await settle();
    recording.clear();
    const { traceId } = await request(() => Promise.all([ask(), ask(), ask()]));
    await settle();
    const clients = clientsOf(traceId).sort((a, b) => a.startMs - b.startMs);
    const root = recording.spans().find((span) => span.name === 'request');
    assert.equal(clients.length, 3);
    const waits = recording.segment('pool_wait').sort((a, b) => a.endMs - b.endMs);
    assert.equal(waits.length, 3);
    for (const [at, wait] of waits.entries()) {
      assert.equal(wait.parentId, root?.spanId);
      assert.ok(wait.endMs > clients[at].startMs - 5 && wait.endMs < clients[at].endMs);
    }
    assert.ok(waits[2].lengthMs > 45, `${waits[2].lengthMs} ms`);
    await dispatcher.close();
  });
});
