import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { namePool } from '@waitfall/instrumentation';
import type { Redis as RedisClient } from 'ioredis';
import { freePort } from '../../../sample-app/src/postgres/free-port.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';
import { assertMeasured, attribute, none, one, timed } from './measured.ts';
import { missing, startRedis, type TestServer } from './servers.ts';

const skip = missing('redis-server');
let recording: Recording;
let server: TestServer;
let Redis: typeof RedisClient;
const clients: RedisClient[] = [];

before(async () => {
  if (skip) return;
  recording = startRecording({ official: false });
  const library = createRequire(import.meta.url)('ioredis');
  // A test that fails leaves its client open, which would ask its server for ever.
  Redis = class extends library {
    constructor(...args: unknown[]) {
      super(...args);
      clients.push(this as unknown as RedisClient);
    }
  } as unknown as typeof RedisClient;
  server = await startRedis();
});
after(async () => {
  for (const client of clients) client.disconnect();
  await recording?.stop();
  await server?.close();
});
beforeEach(() => recording?.clear());

/** A connection that is ready and has learned what a command costs alone. */
async function ready(name: string): Promise<RedisClient> {
  const redis = new Redis(server.port, '127.0.0.1');
  namePool(redis, name);
  for (let times = 0; times < 20; times++) await redis.ping();
  return redis;
}

test('ioredis: a command given before the connection is ready waits for it', { skip }, async () => {
  const redis = new Redis(server.port, '127.0.0.1', { lazyConnect: true });
  let [calledMs, gotMs] = [0, 0];
  const { traceId, value } = await request(async () => {
    calledMs = performance.now();
    const reply = await redis.set('a', '1');
    gotMs = performance.now();
    return reply;
  });
  assert.equal(value, 'OK');
  const wait = one(recording, 'connection_wait', traceId);
  assert.equal(attribute(wait, 'resource'), `connect:ioredis:127.0.0.1:${server.port}`);
  assert.equal(attribute(wait, 'outcome'), 'acquired');
  assertMeasured(wait.lengthMs, gotMs - calledMs, 'connection_wait');
  redis.disconnect();
});

test('ioredis: commands behind a slow one on the same connection wait for it', { skip }, async () => {
  const redis = await ready('slow');
  let slowMs = 0;
  const startedMs = performance.now();
  // A key that never comes: the server answers after 100 ms, whatever else it has to do.
  const slow = request(async () => {
    assert.equal(await redis.blpop('nothing', 0.1), null);
    slowMs = performance.now() - startedMs;
  });
  const behind = [1, 2].map(() => request(async () => assert.equal(await redis.get('nothing'), null)));
  const [first, ...waiters] = await Promise.all([slow, ...behind]);
  none(recording, 'pool_wait', first.traceId);
  for (const [index, { traceId }] of waiters.entries()) {
    const wait = one(recording, 'pool_wait', traceId);
    assert.equal(attribute(wait, 'resource'), 'ioredis:slow');
    assert.equal(attribute(wait, 'resource.capacity'), 1);
    assert.equal(attribute(wait, 'resource.queue_depth'), index);
    assertMeasured(wait.lengthMs, slowMs, 'pool_wait');
    const maxNs = wait.attributes['waitfall.estimate.max_ns'] as number;
    assert.ok(wait.lengthMs <= maxNs / 1e6 + 0.001, 'not longer than until the reply ahead');
  }
  await redis.quit();
});

test('ioredis: commands that only share the way do not wait', { skip }, async () => {
  const redis = await ready('fast');
  await timed(recording, async () => {
    const { traceId } = await request(() => Promise.all(Array.from({ length: 20 }, () => redis.ping())));
    const waits = recording.segment('pool_wait').filter((span) => span.traceId === traceId);
    assertMeasured(Math.max(0, ...waits.map((wait) => wait.lengthMs)), 0, 'the longest wait');
  });
  await redis.quit();
});

test('ioredis: a pipeline waits once, its own commands do not queue for each other', { skip }, async () => {
  const redis = await ready('pipeline');
  const slow = redis.blpop('nothing', 0.1);
  const { traceId, value } = await request(() => redis.pipeline().set('b', '2').get('b').exec());
  assert.deepEqual(value, [
    [null, 'OK'],
    [null, '2'],
  ]);
  await slow;
  assert.ok(one(recording, 'pool_wait', traceId).lengthMs > 50);
  await redis.quit();
});

test('ioredis: a server that is not there, and a command that runs out of time', { skip }, async () => {
  const port = await freePort();
  const nowhere = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0, retryStrategy: () => null });
  nowhere.on('error', () => {});
  const refused = await request(() => assert.rejects(nowhere.get('a')));
  assert.notEqual(attribute(one(recording, 'connection_wait', refused.traceId), 'outcome'), 'acquired');

  const redis = new Redis(server.port, '127.0.0.1', { commandTimeout: 200 });
  try {
    await timed(recording, async () => {
      // On a busy machine a connection alone may take longer than a command may.
      while ((await redis.ping().catch(() => null)) === null);
      const blocking = redis.blpop('nothing', 0.6).catch(() => {});
      let aroundMs = -performance.now();
      const late = await request(() => assert.rejects(redis.get('a'), /timed out/));
      aroundMs += performance.now();
      const wait = one(recording, 'pool_wait', late.traceId);
      assert.equal(attribute(wait, 'outcome'), 'timeout');
      assertMeasured(wait.lengthMs, aroundMs, 'pool_wait');
      await blocking;
      await sleep(600);
    });
  } finally {
    redis.disconnect();
  }
});

test('ioredis: commands of a cluster wait until it knows its nodes', { skip, timeout: 20_000 }, async () => {
  const bus = await freePort();
  const flags = [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    `${bus}`,
    '--cluster-announce-ip',
    '127.0.0.1',
  ];
  const node = await startRedis(...flags);
  const setup = new Redis(node.port, '127.0.0.1');
  await setup.cluster('ADDSLOTSRANGE', 0, 16_383);
  for (let info = ''; !info.includes('cluster_state:ok'); await sleep(20)) info = await setup.cluster('INFO');
  setup.disconnect();
  const { Cluster } = createRequire(import.meta.url)('ioredis');
  const cluster = new Cluster([{ host: '127.0.0.1', port: node.port }], { lazyConnect: true });
  try {
    let [calledMs, gotMs] = [0, 0];
    const { traceId, value } = await request(async () => {
      calledMs = performance.now();
      const reply = await cluster.set('a', '1');
      gotMs = performance.now();
      return reply;
    });
    assert.equal(value, 'OK');
    const wait = recording
      .segment('connection_wait')
      .find((span) => span.traceId === traceId && /ioredis-cluster/.test(span.name));
    assert.equal(wait?.name, `wait_for connect:ioredis-cluster:127.0.0.1:${node.port}`);
    // Then it may wait for the node's own connection.
    const waitedMs = wait?.lengthMs ?? 0;
    assert.ok(waitedMs > 1 && waitedMs <= gotMs - calledMs, `${waitedMs} ms of ${gotMs - calledMs} ms`);
    recording.clear();
    const ready = await request(() => cluster.get('a'));
    assert.equal(ready.value, '1');
    none(recording, 'connection_wait', ready.traceId);
    await assert.rejects(cluster.incr('a', 'b'), /wrong number of arguments/);
  } finally {
    cluster.disconnect();
    await node.close();
  }
});

test('ioredis: values, errors and callbacks are those of the library', { skip }, async () => {
  const redis = await ready('same');
  await redis.set('text', 'abc');
  await assert.rejects(redis.incr('text'), { name: 'ReplyError', message: /not an integer/ });
  assert.deepEqual(await redis.getBuffer('text'), Buffer.from('abc'));
  const called = await new Promise((resolve) => redis.get('text', (...args) => resolve(args)));
  assert.deepEqual(called, [null, 'abc']);
  assert.deepEqual(await redis.multi().get('text').incr('n').exec(), [
    [null, 'abc'],
    [null, 1],
  ]);
  const order: string[] = [];
  await Promise.all(['1', '2', '3'].map((text) => redis.echo(text).then((reply) => order.push(reply))));
  assert.deepEqual(order, ['1', '2', '3']);
  await redis.quit();
});
