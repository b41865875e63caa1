import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { spawnService } from '../support/spawned.ts';
import { type Remote, startRemote } from './servers.ts';

const SERVER = 2;
const CLIENT = 3;
const OWN = '@waitfall/instrumentation';

let remote: Remote;
before(async () => {
  remote = await startRemote(5);
});
after(() => remote.close());

describe('a service under register', { concurrency: 2 }, () => {
  for (const [how, env, scope] of [
    ['own CLIENT spans', { WAITFALL_CLIENT_SPANS: 'own' }, OWN],
    ['the official instrumentations installed', {}, undefined],
  ] as const) {
    test(`${how}: one span a call, and the trace goes on`, async () => {
      const service = await spawnService('../../outbound/service.mjs', { ...env, REMOTE_URL: remote.origin });
      const traces = new Map<string, string>();
      for (const [at, way] of ['/http', '/fetch', '/undici'].entries()) {
        const traceId = `${at + 1}`.repeat(31) + (scope === OWN ? 'a' : 'b');
        traces.set(way, traceId);
        const headers = { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` };
        await (await fetch(`${service.url}${way}`, { headers })).text();
      }
      await service.stop();
      for (const [way, traceId] of traces) {
        const spans = service.spans().filter((span) => span.traceId === traceId);
        const clients = spans.filter((span) => span.kind === CLIENT);
        assert.equal(clients.length, 1, `${way}: ${clients.length} CLIENT spans`);
        const [client] = clients;
        if (scope !== undefined) assert.equal(client.scope, scope);
        const server = spans.find((span) => span.kind === SERVER);
        assert.equal(client.parentSpanId, server?.spanId);
        const seen = remote.seen.find((one) => String(one.headers.traceparent).includes(traceId));
        assert.equal(seen?.path, way);
        assert.equal(seen?.headers.traceparent, `00-${traceId}-${client.spanId}-01`);
        for (const span of spans.filter((one) => one.name.startsWith('wait_for connect:')))
          assert.equal(span.parentSpanId, client.spanId);
      }
    });
  }

  test('a proxy that passes the headers on: the call is between both services; a trace of its own stays', async () => {
    const foreign = `00-${'f'.repeat(32)}-${'2'.repeat(16)}-01`;
    const service = await spawnService('../../outbound/service.mjs', {
      WAITFALL_CLIENT_SPANS: 'own',
      REMOTE_URL: remote.origin,
      FOREIGN_TRACEPARENT: foreign,
    });
    const traceId = `${'4'.repeat(31)}c`;
    for (const way of ['/http-proxy', '/fetch-proxy', '/foreign'])
      await (
        await fetch(service.url + way, { headers: { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` } })
      ).text();
    await service.stop();
    const clients = service.spans().filter((span) => span.traceId === traceId && span.kind === CLIENT);
    assert.equal(clients.length, 3);
    const seen = (path: string) => remote.seen.find((one) => one.path === path)?.headers.traceparent;
    assert.equal(seen('/http-proxy'), `00-${traceId}-${clients[0].spanId}-01`);
    assert.equal(seen('/fetch-proxy'), `00-${traceId}-${clients[1].spanId}-01`);
    assert.equal(seen('/foreign'), foreign);
  });

  test('switched off: no CLIENT spans of ours, and no waits', async () => {
    const service = await spawnService('../../outbound/service.mjs', {
      WAITFALL_CLIENT_SPANS: 'own',
      WAITFALL_OUTBOUND: 'false',
      REMOTE_URL: remote.origin,
    });
    await (await fetch(`${service.url}/http`)).text();
    await service.stop();
    // On a busy machine the request may wait for the event loop, which has nothing to do with this.
    const ours = service.spans().filter((span) => span.attributes['waitfall.resource'] !== 'eventloop');
    assert.deepEqual(
      ours.map((span) => span.kind),
      [SERVER],
    );
  });
});
