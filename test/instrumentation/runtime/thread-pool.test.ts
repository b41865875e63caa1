import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import { createRequire } from 'node:module';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  patchThreadPool,
  type ThreadPoolSwitch,
} from '../../../instrumentation/src/runtime/thread-pool/patch-thread-pool.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';

const require = createRequire(import.meta.url);
const THREADS = 4;
const on: ThreadPoolSwitch = { threadPool: true };

let recording: Recording;
let crypto: typeof import('node:crypto');
let fs: typeof import('node:fs');
let dns: typeof import('node:dns');
/** The functions as they are without us. */
let plain: Record<string, unknown>;

before(() => {
  recording = startRecording({ official: false });
  crypto = require('node:crypto');
  fs = require('node:fs');
  dns = require('node:dns');
  plain = {
    lookup: dns.lookup,
    read: fs.read,
    readFile: fs.promises.readFile,
    gzip: require('node:zlib').gzip,
  };
  patchThreadPool(on);
});
after(() => recording.stop());
beforeEach(() => recording.clear());

/** One job: how long it took by its caller's clock. */
function job(rounds: number): Promise<number> {
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    crypto.pbkdf2('secret', 'salt', rounds, 64, 'sha512', (error) =>
      error ? reject(error) : resolve(performance.now() - startMs),
    );
  });
}

describe('waits for a thread of libuv', () => {
  test('twice as many jobs as threads: half of them wait as long as the others work', async () => {
    // One job alone says how long a thread is busy with it.
    const rounds = 60_000;
    await job(rounds);
    const tookMs = await request(() => Promise.all(Array.from({ length: 2 * THREADS }, () => job(rounds))));
    const longestMs = Math.max(...tookMs.value);
    await sleep(50);
    const waits = recording.segment('threadpool_wait');
    assert.equal(waits.length, 2 * THREADS);
    for (const wait of waits) {
      assert.equal(wait.attributes['waitfall.resource'], 'threadpool');
      assert.equal(wait.attributes['waitfall.resource.capacity'], THREADS);
      assert.equal(wait.attributes['waitfall.estimated'], true);
      assert.ok(wait.lengthMs <= longestMs);
    }
    // The threads share the cores: the last ones cannot have begun before the first were done.
    const waited = waits.filter((wait) => wait.lengthMs > 0.1 * longestMs);
    assert.ok(waited.length >= THREADS / 2, `${waited.length} waited`);
    assert.ok(Math.max(...waits.map((wait) => wait.lengthMs)) >= 0.25 * longestMs);
    const depths = waits.map((wait) => wait.attributes['waitfall.resource.queue_depth'] as number);
    assert.equal(Math.max(...depths), THREADS - 1);
  });

  test('a free pool: nobody waits', async () => {
    await request(() => job(10_000));
    await sleep(50);
    const [visit] = recording.segment('threadpool_wait');
    assert.ok(visit.lengthMs < 5, `${visit.lengthMs} ms`);
    assert.ok((visit.attributes['waitfall.hold.duration_ns'] as number) > 0);
  });

  test('name lookups have half of the threads', async () => {
    const lookup = promisify((host: string, done: (error: Error | null) => void) => dns.lookup(host, done));
    await request(() => Promise.all(Array.from({ length: 5 }, () => lookup('localhost'))));
    const waits = recording.segment('threadpool_wait');
    assert.equal(waits.length, 5);
    for (const wait of waits) {
      assert.equal(wait.attributes['waitfall.resource'], 'threadpool:dns');
      assert.equal(wait.attributes['waitfall.resource.capacity'], THREADS / 2);
    }
    const depths = waits.map((wait) => wait.attributes['waitfall.resource.queue_depth'] as number).sort();
    assert.deepEqual(depths, [0, 0, 0, 1, 2]);
  });

  test('an address needs no thread', async () => {
    await request(() => promisify((done: (error: Error | null) => void) => dns.lookup('127.0.0.1', done))());
    assert.equal(recording.segment('threadpool_wait').length, 0);
  });
});

describe('the wrapped functions', () => {
  const now = () => ({
    lookup: dns.lookup,
    read: fs.read,
    readFile: fs.promises.readFile,
    gzip: require('node:zlib').gzip,
  });

  test('have the names, lengths and own properties they had', () => {
    for (const [name, wrapped] of Object.entries(now())) {
      const before = plain[name] as (...args: unknown[]) => unknown;
      assert.notEqual(wrapped, before, `${name} is wrapped`);
      assert.equal(wrapped.name, before.name);
      assert.equal(wrapped.length, before.length);
      const keys = (fn: object) =>
        Reflect.ownKeys(fn).filter((key) => key !== 'prototype' && !String(key).includes('waitfall'));
      const hidden = ['__original', '__wrapped', '__unwrap'];
      assert.deepEqual(
        keys(wrapped)
          .filter((key) => !hidden.includes(String(key)))
          .map(String)
          .sort(),
        keys(before).map(String).sort(),
      );
    }
  });

  test('promisify finds what it looks for', async () => {
    const { address, family } = await promisify(dns.lookup)('127.0.0.1');
    assert.deepEqual({ address, family }, { address: '127.0.0.1', family: 4 });
    const fd = fs.openSync(import.meta.filename, 'r');
    const { bytesRead, buffer } = await promisify(fs.read)(fd, Buffer.alloc(6), 0, 6, 0);
    fs.closeSync(fd);
    assert.equal(bytesRead, 6);
    assert.equal(buffer.toString(), 'import');
  });

  test('throw at once what they threw at once', async () => {
    await request(async () => {
      assert.throws(() => crypto.pbkdf2('a', 'b', -1, 64, 'sha512', () => {}), RangeError);
      assert.throws(() => (fs.readFile as unknown as (path: number) => void)(7), TypeError);
    });
    assert.equal(recording.segment('threadpool_wait').length, 0);
  });

  test('without a callback work as before', () => {
    assert.equal(crypto.randomBytes(8).length, 8);
    assert.deepEqual(pbkdf2Sync('a', 'b', 1, 8, 'sha512'), crypto.pbkdf2Sync('a', 'b', 1, 8, 'sha512'));
  });

  test('a rejection that nobody handles stays one', async () => {
    const unhandled: unknown[] = [];
    const listeners = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', (error) => unhandled.push(error));
    void fs.promises.readFile('/does/not/exist');
    await sleep(50);
    process.removeAllListeners('unhandledRejection');
    for (const listener of listeners) process.on('unhandledRejection', listener);
    assert.equal(unhandled.length, 1);
  });

  test('switched off, record nothing', async () => {
    on.threadPool = false;
    await request(() => job(1_000));
    on.threadPool = true;
    assert.equal(recording.segment('threadpool_wait').length, 0);
  });
});
