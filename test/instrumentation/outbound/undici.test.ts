import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, describe, test } from 'node:test';
import { propagation } from '@opentelemetry/api';
import { makeClientSpans } from '../../../instrumentation/src/parts.ts';
import { W3cPropagator } from '../../../instrumentation/src/standalone/propagator.ts';
import { moment } from '../support/moments.ts';
import { type Recorded, type Recording, request, startRecording } from '../support/recording.ts';
import { checkVisits, type Remote, startRemote, type Visit } from './servers.ts';

const HOLD_MS = 60;

let recording: Recording;
let remote: Remote;
let undici: typeof import('undici');

before(async () => {
  recording = startRecording({ official: false });
  propagation.setGlobalPropagator(new W3cPropagator());
  makeClientSpans({ http: true, undici: true });
  undici = createRequire(import.meta.url)('undici');
  remote = await startRemote(HOLD_MS);
});
after(async () => {
  await undici.getGlobalDispatcher().close();
  await remote.close();
  await recording.stop();
});
beforeEach(() => {
  recording.clear();
  remote.seen.length = 0;
});

const clients = (): Recorded[] => recording.spans().filter((span) => span.kind === 2);
const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

async function waitsMatchServer(
  dispatcher: import('undici').Dispatcher,
  capacity: number,
): Promise<Recorded[]> {
  const done = new Map<string, number>();
  const ask = async (path: string) => {
    const { body } = await undici.request(`${remote.origin}${path}`, { dispatcher });
    await body.text();
    await new Promise(setImmediate);
    done.set(path, moment());
  };
  await request(() => Promise.all(Array.from({ length: capacity }, () => ask('/warm'))));
  await settle();
  recording.clear();
  remote.seen.length = 0;
  await request(() => Promise.all(['/a', '/b', '/c', '/d', '/e'].map(ask)));
  await settle();
  const waits = recording.segment('pool_wait');
  assert.equal(waits.length, 5);
  const visits: Visit[] = [];
  for (const wait of waits) {
    const client = clients().find((span) => span.spanId === wait.parentId);
    assert.ok(client, 'the wait is part of the call');
    const path = new URL(String(client.attributes['url.full'])).pathname;
    assert.equal(wait.attributes['waitfall.resource'], `undici-pool:127.0.0.1:${remote.port}`);
    assert.equal(wait.attributes['waitfall.resource.capacity'], capacity);
    const holdMs = (wait.attributes['waitfall.hold.duration_ns'] as number) / 1e6;
    visits.push({ path, gotMs: wait.endMs, holdMs });
  }
  checkVisits(remote.seen, done, capacity, visits);
  await dispatcher.close();
  return waits;
}

describe('undici', () => {
  test('a pool queues before it makes a request of a call', async () => {
    const waits = await waitsMatchServer(new undici.Pool(remote.origin, { connections: 2 }), 2);
    assert.deepEqual(
      waits.map((wait) => wait.attributes['waitfall.resource.queue_depth']).sort(),
      [0, 0, 0, 1, 2],
    );
  });

  test('so does an agent with a limit', async () => {
    await waitsMatchServer(new undici.Agent({ connections: 2 }), 2);
  });

  test('one connection: the client itself queues', async () => {
    await waitsMatchServer(new undici.Agent({ connections: 1 }), 1);
  });

  test('a new connection is a wait of its own', async () => {
    const dispatcher = new undici.Agent();
    await request(async () => {
      const { body } = await undici.request(remote.origin, { dispatcher });
      await body.text();
    });
    await settle();
    const [wait] = recording.segment('connection_wait');
    assert.equal(wait.attributes['waitfall.resource'], `connect:undici-pool:127.0.0.1:${remote.port}`);
    assert.equal(wait.parentId, clients()[0].spanId);
    assert.equal(recording.segment('pool_wait').length, 0, 'no limit, no queue');
    await dispatcher.close();
  });

  test('the built-in fetch: one CLIENT span, the trace carried on', async () => {
    const calledMs = performance.now();
    const { traceId } = await request(async () => (await fetch(`${remote.origin}/fetched?q=1`)).text());
    const tookMs = performance.now() - calledMs;
    await settle();
    assert.equal(clients().length, 1);
    const [client] = clients();
    assert.equal(client.attributes['url.full'], `${remote.origin}/fetched`);
    assert.equal(remote.seen[0].headers.traceparent, `00-${traceId}-${client.spanId}-01`);
    assert.ok(
      client.lengthMs <= tookMs && client.lengthMs >= HOLD_MS - 1,
      `${client.lengthMs} of ${tookMs} ms`,
    );
  });

  test('an abort is no error, a timeout is one', async () => {
    const abort = new AbortController();
    await request(async () => {
      setTimeout(() => abort.abort(), 20);
      await assert.rejects(fetch(remote.origin, { signal: abort.signal }));
    });
    await request(async () => {
      await assert.rejects(fetch(remote.origin, { signal: AbortSignal.timeout(20) }));
    });
    await settle();
    const [aborted, timedOut] = clients();
    assert.equal(aborted.failed, false);
    assert.equal(aborted.attributes['error.type'], undefined);
    assert.equal(timedOut.failed, true);
    assert.equal(timedOut.attributes['error.type'], 'timeout');
  });
});
