import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { propagation } from '@opentelemetry/api';
import { makeClientSpans } from '../../../instrumentation/src/parts.ts';
import { W3cPropagator } from '../../../instrumentation/src/standalone/propagator.ts';
import { assertBetween, moment } from '../support/moments.ts';
import { type Recorded, type Recording, request, startRecording } from '../support/recording.ts';
import { checkVisits, type Remote, startRemote, type Visit } from './servers.ts';

const HOLD_MS = 60;

let recording: Recording;
let remote: Remote;

before(async () => {
  recording = startRecording({ official: false });
  propagation.setGlobalPropagator(new W3cPropagator());
  makeClientSpans({ http: true, undici: true });
  remote = await startRemote(HOLD_MS);
});
after(async () => {
  await remote.close();
  await recording.stop();
});
beforeEach(() => {
  recording.clear();
  remote.seen.length = 0;
});

function get(path: string, options: http.RequestOptions = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = http.get(`${remote.origin}${path}`, options, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
    });
    call.once('error', reject);
  });
}

const clients = (): Recorded[] => recording.spans().filter((span) => span.kind === 2);
const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

describe('http.Agent', () => {
  test('the queue of a limited agent: who waited, how long, behind how many', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
    const resource = `http-agent:127.0.0.1:${remote.port}`;
    await request(() => Promise.all([get('/warm', { agent }), get('/warm', { agent })]));
    await settle();
    recording.clear();
    remote.seen.length = 0;
    const done = new Map<string, number>();
    const timed = async (path: string) => {
      await get(path, { agent });
      await new Promise(setImmediate);
      done.set(path, moment());
    };
    await request(() => Promise.all(['/a', '/b', '/c', '/d', '/e'].map(timed)));
    await settle();
    const waits = recording.segment('pool_wait');
    assert.equal(waits.length, 5);
    const visits: Visit[] = [];
    for (const wait of waits) {
      assert.equal(wait.attributes['waitfall.resource'], resource);
      assert.equal(wait.attributes['waitfall.resource.capacity'], 2);
      assert.equal(wait.attributes['waitfall.outcome'], 'acquired');
      const client = clients().find((span) => span.spanId === wait.parentId);
      assert.ok(client, 'the wait is part of the call');
      const path = new URL(String(client.attributes['url.full'])).pathname;
      const holdMs = (wait.attributes['waitfall.hold.duration_ns'] as number) / 1e6;
      visits.push({ path, gotMs: wait.endMs, holdMs });
    }
    checkVisits(remote.seen, done, 2, visits);
    const depths = waits.map((wait) => wait.attributes['waitfall.resource.queue_depth']).sort();
    assert.deepEqual(depths, [0, 0, 0, 1, 2]);
    agent.destroy();
  });

  test('a new connection is a wait of its own, with its parts', async () => {
    const agent = new http.Agent();
    await request(() => get('/fresh', { agent }));
    await settle();
    const [wait] = recording.segment('connection_wait');
    assert.equal(wait.attributes['waitfall.resource'], `connect:http-agent:127.0.0.1:${remote.port}`);
    assert.ok((wait.attributes['waitfall.connect.tcp_ns'] as number) > 0);
    assert.equal(recording.segment('pool_wait').length, 0, 'no limit, no queue');
    agent.destroy();
  });

  test('the CLIENT span carries the trace on and says what the conventions ask for', async () => {
    const calledMs = performance.now();
    const { traceId } = await request(() => get('/carried?token=secret'));
    const tookMs = performance.now() - calledMs;
    await settle();
    const [client] = clients();
    assert.equal(client.name, 'GET');
    assert.equal(client.attributes['http.response.status_code'], 200);
    assert.equal(client.attributes['server.port'], remote.port);
    assert.equal(client.attributes['url.full'], `${remote.origin}/carried`, 'no query');
    assert.equal(remote.seen[0].headers.traceparent, `00-${traceId}-${client.spanId}-01`);
    assert.ok(
      client.lengthMs <= tookMs && client.lengthMs >= HOLD_MS - 1,
      `${client.lengthMs} of ${tookMs} ms`,
    );
  });

  test('a header that is there already stays', async () => {
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    await request(() => get('/own', { headers: { traceparent } }));
    assert.equal(remote.seen[0].headers.traceparent, traceparent);
  });

  test('a call that is given up while it waits: aborted, and no socket is missing afterwards', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    let [fromMs, calledMs, givingUpMs, givenUpMs] = [0, 0, 0, 0];
    await request(async () => {
      const first = get('/first', { agent });
      fromMs = moment();
      const second = http.get(`${remote.origin}/second`, { agent });
      calledMs = moment();
      const failed = once(second, 'error');
      setTimeout(() => {
        givingUpMs = moment();
        second.destroy(new Error('not any more'));
        givenUpMs = moment();
      }, 20);
      await Promise.all([first, failed]);
      await get('/third', { agent });
    });
    await settle();
    const aborted = recording
      .segment('pool_wait')
      .find((wait) => wait.attributes['waitfall.outcome'] === 'aborted');
    assert.ok(aborted);
    assertBetween(aborted.startMs, fromMs, calledMs, 'the wait begins');
    assertBetween(aborted.endMs, givingUpMs, givenUpMs, 'it is given up');
    assert.equal(Object.keys(agent.sockets).length, 0);
    agent.destroy();
  });

  test('a refused connection: the wait for it failed', async () => {
    const closed = await startRemote(0);
    await closed.close();
    await assert.rejects(
      request(
        () =>
          new Promise((_, reject) => {
            http.get(`http://127.0.0.1:${closed.port}/`).once('error', reject);
          }),
      ),
      /ECONNREFUSED/,
    );
    await settle();
    const [wait] = recording.segment('connection_wait');
    assert.equal(wait.attributes['waitfall.outcome'], 'rejected');
    assert.equal(wait.attributes['error.type'], 'ECONNREFUSED');
    const [client] = clients();
    assert.equal(client.failed, true);
    assert.equal(client.attributes['error.type'], 'ECONNREFUSED');
  });

  test('the response is what it was: same listeners, same events', async () => {
    const call = http.get(`${remote.origin}/events`, { agent: new http.Agent() });
    const plain = new http.ClientRequest(`${remote.origin}/events`);
    assert.deepEqual(call.eventNames(), plain.eventNames());
    plain.destroy();
    plain.on('error', () => {});
    const [response] = await once(call, 'response');
    assert.deepEqual(
      response.socket.eventNames().filter((name: string) => name === 'lookup' || name === 'connect'),
      [],
    );
    response.resume();
    await once(response, 'end');
  });

  test('a body that comes late is the remote server’s time', async () => {
    await request(() => get('/slow-body'));
    await settle();
    const [client] = clients();
    // Sent when a timer of that length has fired; timers count in whole ms.
    assert.ok(client.lengthMs > HOLD_MS - 2, `${client.lengthMs} ms`);
  });

  test('the call ends with its answer, not with the socket that is closed afterwards', async () => {
    // Not kept alive: the request is closed when its socket is.
    const agent = new http.Agent({ keepAlive: false });
    let [endedMs, laterMs] = [0, 0];
    await request(
      () =>
        new Promise<void>((resolve) => {
          const call = http.get(`${remote.origin}/closed`, { agent }, (response) => {
            response.resume().once('end', () => {
              endedMs = moment();
              setImmediate(() => {
                laterMs = moment();
                while (moment() < laterMs + 20);
              });
            });
          });
          call.once('close', resolve);
        }),
    );
    await settle();
    const [client] = clients();
    assertBetween(client.endMs, endedMs, laterMs, 'the end');
  });

  test('outside a request nothing is recorded, and the call works', async () => {
    assert.equal(await get('/alone'), 200);
    await settle();
    assert.equal(recording.spans().length, 0);
  });
});
