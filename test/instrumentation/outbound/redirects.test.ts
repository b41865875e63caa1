import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { propagation } from '@opentelemetry/api';
import { makeClientSpans } from '../../../instrumentation/src/parts.ts';
import { W3cPropagator } from '../../../instrumentation/src/standalone/propagator.ts';
import { type Recorded, type Recording, request, startRecording } from '../support/recording.ts';

interface Seen {
  readonly path: string;
  readonly method: string;
  readonly traceparent: string[];
}

interface Hop {
  origin: string;
  close(): Promise<void>;
}

let recording: Recording;
let undici: typeof import('undici');
let first: Hop;
let second: Hop;
const seen: Seen[] = [];

/** Every server answers after this. */
const ANSWER_MS = 20;

/** `/end` answers, `/again` leads to itself, `/to?where` leads there, `/see?where` does and turns a POST into a GET. */
async function startHop(): Promise<Hop> {
  const server = createServer(async (incoming: IncomingMessage, response) => {
    const [, path = '', where = ''] = /^([^?]*)\??(.*)$/.exec(incoming.url ?? '') ?? [];
    const traceparent = incoming.rawHeaders.filter(
      (_, i, all) => all[i - 1]?.toLowerCase() === 'traceparent',
    );
    seen.push({ path, method: incoming.method ?? '', traceparent });
    incoming.resume();
    await sleep(ANSWER_MS);
    if (path === '/end') response.end('done');
    else
      response
        .writeHead(path === '/see' ? 303 : 307, { location: path === '/again' ? '/again' : where })
        .end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

before(async () => {
  recording = startRecording({ official: false });
  propagation.setGlobalPropagator(new W3cPropagator());
  makeClientSpans({ http: false, undici: true });
  undici = createRequire(import.meta.url)('undici');
  [first, second] = await Promise.all([startHop(), startHop()]);
});
after(async () => {
  await Promise.all([first.close(), second.close()]);
  await recording.stop();
});
beforeEach(() => {
  recording.clear();
  seen.length = 0;
});

const clients = (): Recorded[] =>
  recording
    .spans()
    .filter((span) => span.kind === 2)
    .sort((a, b) => a.startMs - b.startMs);

const STYLES: Record<string, (url: string, method: 'GET' | 'POST') => Promise<unknown>> = {
  'the built-in fetch': async (url, method) =>
    (await fetch(url, { method, body: method === 'POST' ? 'x' : undefined })).text(),
  'the fetch of undici': async (url, method) =>
    (await undici.fetch(url, { method, body: method === 'POST' ? 'x' : undefined })).text(),
  'undici.request with its interceptor': async (url, method) => {
    const dispatcher = new undici.Agent().compose(undici.interceptors.redirect({ maxRedirections: 5 }));
    const body = method === 'POST' ? 'x' : undefined;
    await (await undici.request(url, { dispatcher, method, body, headers: { a: 'b' } })).body.text();
    await dispatcher.close();
  },
  'an undici pool of one connection': async (url, method) => {
    const { origin, pathname, search } = new URL(url);
    const pool = new undici.Pool(origin, { connections: 1 });
    const dispatcher = pool.compose(undici.interceptors.redirect({ maxRedirections: 5 }));
    const body = method === 'POST' ? 'x' : undefined;
    await (await dispatcher.request({ path: pathname + search, method, body })).body.text();
    await pool.close();
  },
};

for (const [style, call] of Object.entries(STYLES)) {
  describe(`${style} follows redirects`, () => {
    for (const method of ['GET', 'POST'] as const) {
      test(`${method}: a span for each request that went out, one after the other, each carried on by itself`, async () => {
        const path = method === 'GET' ? '/to' : '/see';
        const { traceId } = await request(() => call(`${first.origin}${path}?/to?/end`, method));
        await sleep(30);
        const spans = clients();
        const root = recording.spans().find((span) => span.name === 'request');
        const paths = spans.map((span) => new URL(String(span.attributes['url.full'])).pathname);
        assert.deepEqual(
          paths,
          seen.map((one) => one.path),
        );
        assert.equal(seen.length, 3);
        for (const [at, span] of spans.entries()) {
          assert.equal(span.traceId, traceId);
          assert.equal(span.parentId, root?.spanId);
          assert.equal(span.attributes['http.request.method'], seen[at].method);
          assert.deepEqual(seen[at].traceparent, [`00-${traceId}-${span.spanId}-01`]);
          assert.ok(span.lengthMs >= ANSWER_MS - 1.5, `${span.lengthMs} ms`);
          if (at > 0)
            assert.ok(
              span.startMs >= spans[at - 1].endMs - 2,
              `begins ${span.startMs - spans[at - 1].endMs} ms after the one before has ended`,
            );
        }
        assert.deepEqual(
          spans.map((span) => span.attributes['http.response.status_code']),
          [method === 'GET' ? 307 : 303, 307, 200],
        );
        const statuses = spans.filter((span) => span.failed);
        assert.equal(statuses.length, 0);
      });
    }
  });
}

test('a redirect to another server: two spans, each with its own address', async () => {
  await request(async () => (await fetch(`${first.origin}/to?${second.origin}/end`)).text());
  await sleep(30);
  assert.deepEqual(
    clients().map((span) => span.attributes['server.port']),
    [first, second].map((hop) => Number(new URL(hop.origin).port)),
  );
});

test('a redirect that is not followed, and one that never ends', async () => {
  await request(async () => (await fetch(`${first.origin}/to?/end`, { redirect: 'manual' })).text());
  await sleep(30);
  assert.equal(clients().length, 1);
  recording.clear();
  seen.length = 0;
  await request(() => assert.rejects(fetch(`${first.origin}/again`), /fetch failed/));
  await sleep(30);
  assert.equal(clients().length, seen.length);
  assert.ok(seen.length > 20);
});
