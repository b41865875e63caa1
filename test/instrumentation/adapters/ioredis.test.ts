import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { namePool } from '@waitfall/instrumentation';
import type { Redis as RedisClient } from 'ioredis';
import { freePort } from '../../../sample-app/src/postgres/free-port.ts';
import { assertBetween, moment } from '../support/moments.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';
import { attribute, none, one } from './measured.ts';
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

/** What is learned of commands alone follows its median by a tenth of it a command: never more than this of the longest. */
const LEARNED = 1.1;

/** @returns a connection that has learned what a command costs alone, and the longest that this can be, ms. */
async function ready(name: string): Promise<{ redis: RedisClient; aloneMs: number }> {
  const redis = new Redis(server.port, '127.0.0.1');
  namePool(redis, name);
  let longestMs = 0;
  for (let times = 0; times < 20; times++) {
    const fromMs = moment();
    await redis.ping();
    longestMs = Math.max(longestMs, moment() - fromMs);
  }
  return { redis, aloneMs: LEARNED * longestMs };
}

/** A command that the server answers when the test says so, and others behind it on the same connection. */
async function behindBlocked<T>(
  redis: RedisClient,
  key: string,
  behind: () => Promise<T>[],
): Promise<{ results: T[]; traceId: string; letGoMs: number; answeredMs: number }> {
  const helper = new Redis(server.port, '127.0.0.1');
  await helper.ping();
  let answeredMs = 0;
  const blocked = request(async () => {
    await redis.blpop(key, 0);
    answeredMs = moment();
  });
  const waiting = behind();
  await sleep(40);
  const letGoMs = moment();
  await helper.rpush(key, 'go');
  const [{ traceId }, ...results] = await Promise.all([blocked, ...waiting]);
  helper.disconnect();
  return { results, traceId, letGoMs, answeredMs };
}

test('ioredis: a command given before the connection is ready waits for it', { skip }, async () => {
  const redis = new Redis(server.port, '127.0.0.1', { lazyConnect: true });
  let [fromMs, calledMs, connectedMs, gotMs] = [0, 0, 0, 0];
  redis.once('connect', () => {
    connectedMs = moment();
  });
  const { traceId, value } = await request(async () => {
    fromMs = moment();
    const answer = redis.set('a', '1');
    calledMs = moment();
    const reply = await answer;
    gotMs = moment();
    return reply;
  });
  assert.equal(value, 'OK');
  const wait = one(recording, 'connection_wait', traceId);
  assert.equal(attribute(wait, 'resource'), `connect:ioredis:127.0.0.1:${server.port}`);
  assert.equal(attribute(wait, 'outcome'), 'acquired');
  assertBetween(wait.startMs, fromMs, calledMs, 'the wait begins');
  assertBetween(wait.endMs, connectedMs, gotMs, 'the command is sent');
  redis.disconnect();
});

test('ioredis: commands behind a slow one on the same connection wait for it', { skip }, async () => {
  const { redis, aloneMs } = await ready('slow');
  const { results, traceId, letGoMs, answeredMs } = await behindBlocked(redis, 'slow', () =>
    [1, 2].map(async () => {
      let [fromMs, calledMs, gotMs] = [0, 0, 0];
      const done = await request(async () => {
        fromMs = moment();
        const answer = redis.get('nothing');
        calledMs = moment();
        assert.equal(await answer, null);
        gotMs = moment();
      });
      return { traceId: done.traceId, fromMs, calledMs, gotMs };
    }),
  );
  none(recording, 'pool_wait', traceId);
  for (const [index, { traceId, fromMs, calledMs, gotMs }] of results.entries()) {
    const wait = one(recording, 'pool_wait', traceId);
    assert.equal(attribute(wait, 'resource'), 'ioredis:slow');
    assert.equal(attribute(wait, 'resource.capacity'), 1);
    assert.equal(attribute(wait, 'resource.queue_depth'), index);
    assertBetween(wait.startMs, fromMs, calledMs, 'the wait begins');
    assertBetween(wait.endMs, letGoMs - aloneMs, gotMs, 'the server turns to it');
    // Until the reply ahead at most: of the first that is the one the test let go.
    const latestMs = wait.startMs + (wait.attributes['waitfall.estimate.max_ns'] as number) / 1e6;
    assertBetween(latestMs, letGoMs, index === 0 ? answeredMs : gotMs, 'the reply ahead');
    assert.ok(wait.endMs <= latestMs + 0.002, 'not longer than until the reply ahead');
  }
  await redis.quit();
});

test('ioredis: commands that only share the way do not wait', { skip }, async () => {
  const { redis } = await ready('fast');
  // On a machine without a core for it the way itself takes long; not each time.
  let leastMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 4; attempt++) {
    recording.clear();
    const { traceId } = await request(() => Promise.all(Array.from({ length: 20 }, () => redis.ping())));
    const waits = recording.segment('pool_wait').filter((span) => span.traceId === traceId);
    leastMs = Math.min(leastMs, Math.max(0, ...waits.map((wait) => wait.lengthMs)));
  }
  assert.ok(leastMs < 20, `the longest wait was ${leastMs} ms at least`);
  await redis.quit();
});

test('ioredis: a pipeline waits once, its own commands do not queue for each other', { skip }, async () => {
  const { redis, aloneMs } = await ready('pipeline');
  const { results, letGoMs } = await behindBlocked(redis, 'pipeline', () => [
    request(() => redis.pipeline().set('b', '2').get('b').exec()),
  ]);
  const [{ traceId, value }] = results;
  assert.deepEqual(value, [
    [null, 'OK'],
    [null, '2'],
  ]);
  const wait = one(recording, 'pool_wait', traceId);
  assertBetween(wait.endMs, letGoMs - aloneMs, moment(), 'the server turns to it');
  await redis.quit();
});

test('ioredis: a server that is not there, and a command that runs out of time', { skip }, async () => {
  const port = await freePort();
  const nowhere = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0, retryStrategy: () => null });
  nowhere.on('error', () => {});
  const refused = await request(() => assert.rejects(nowhere.get('a')));
  assert.notEqual(attribute(one(recording, 'connection_wait', refused.traceId), 'outcome'), 'acquired');

  const redis = new Redis(server.port, '127.0.0.1', { commandTimeout: 200 });
  // On a busy machine a connection alone may take longer than a command may.
  while ((await redis.ping().catch(() => null)) === null);
  const blocked = redis.blpop('late', 0).catch(() => {});
  let [fromMs, calledMs, dueMs, toldMs] = [0, 0, 0, 0];
  const late = await request(async () => {
    // As long as the client's own, and set before it: it fires before it.
    setTimeout(() => {
      dueMs = moment();
    }, 200);
    fromMs = moment();
    const answer = redis.get('a');
    calledMs = moment();
    await assert.rejects(answer, /timed out/);
    toldMs = moment();
  });
  await blocked;
  const wait = one(recording, 'pool_wait', late.traceId);
  assert.equal(attribute(wait, 'outcome'), 'timeout');
  assertBetween(wait.startMs, fromMs, calledMs, 'the wait begins');
  assertBetween(wait.endMs, dueMs, toldMs, 'the wait ends');
  redis.disconnect();
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
  const { redis } = await ready('same');
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
