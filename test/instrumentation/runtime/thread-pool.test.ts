import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import { createRequire } from 'node:module';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { LineFile } from '../../../instrumentation/src/export/line-file.ts';
import {
  patchThreadPool,
  type ThreadPoolSwitch,
} from '../../../instrumentation/src/runtime/thread-pool/patch-thread-pool.ts';
import { type Recorded, type Recording, request, startRecording } from '../support/recording.ts';

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

const depthOf = (wait: Recorded) => wait.attributes['waitfall.resource.queue_depth'] as number;

describe('waits for a thread of libuv', () => {
  test('twice as many jobs as threads: half of them wait as long as the others work', async () => {
    const rounds = 60_000;
    await job(rounds);
    const { value: tookMs } = await request(() =>
      Promise.all(Array.from({ length: 2 * THREADS }, () => job(rounds))),
    );
    await sleep(50);
    const waits = recording.segment('threadpool_wait');
    assert.equal(waits.length, 2 * THREADS);
    for (const wait of waits) {
      assert.equal(wait.attributes['waitfall.resource'], 'threadpool');
      assert.equal(wait.attributes['waitfall.resource.capacity'], THREADS);
      assert.equal(wait.attributes['waitfall.estimated'], true);
    }
    // The pool serves in order: a job cannot have begun before the one four places before it was done.
    const ordered = [...waits].sort((a, b) => depthOf(a) - depthOf(b) || a.lengthMs - b.lengthMs);
    const doneMs = [...tookMs].sort((a, b) => a - b);
    const trueMs = [0, 0, 0, 0, ...doneMs.slice(0, THREADS)];
    const total = (list: number[]) => list.reduce((sum, ms) => sum + ms, 0);
    const bound = (name: string) =>
      total(ordered.map((wait) => (wait.attributes[`waitfall.estimate.${name}_ns`] as number) / 1e6));
    const trueTotalMs = total(trueMs);
    assert.ok(bound('min') <= 1.1 * trueTotalMs + 10, `at least ${bound('min')} of ${trueTotalMs} ms`);
    assert.ok(bound('max') >= 0.9 * trueTotalMs - 10, `at most ${bound('max')} of ${trueTotalMs} ms`);
    // The estimate itself; the loop that learns of it competes with the threads for the cores.
    const measuredMs = total(ordered.map((wait) => wait.lengthMs));
    assert.ok(
      measuredMs > 0.4 * trueTotalMs && measuredMs < 2.5 * trueTotalMs,
      `${measuredMs} of ${trueTotalMs} ms`,
    );
    // All four threads were taken by the first jobs: the bounds of those that came behind hold their waits.
    const [last] = ordered.slice(-1);
    const mostMs = (last.attributes['waitfall.estimate.max_ns'] as number) / 1e6;
    assert.ok(mostMs >= 0.8 * doneMs[0], `${mostMs} >= ${doneMs[0]} ms`);
    assert.equal(Math.max(...waits.map(depthOf)), THREADS - 1);
  });

  test('one thread after the other: each call waits for those before it', async () => {
    // Longer than a canary's interval, so that the wait is measured and not guessed.
    const rounds = 60_000;
    const { value } = await request(async () => {
      const running = Array.from({ length: THREADS }, () => job(2 * rounds));
      await sleep(20);
      return { behindMs: await job(1_000), runningMs: await Promise.all(running) };
    });
    await sleep(50);
    const waits = recording.segment('threadpool_wait');
    const behind = waits.reduce((a, b) => (a.startMs > b.startMs ? a : b));
    assert.ok(
      Math.abs(behind.lengthMs - value.behindMs) < 15 + 0.2 * value.behindMs,
      `${behind.lengthMs} of ${value.behindMs} ms`,
    );
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

test('what this package writes itself is not the request’s', async () => {
  const file = new LineFile('/dev/null');
  await request(async () => {
    file.append(Buffer.from('a line\n'));
    await file.flush();
  });
  await file.close();
  assert.equal(recording.segment('threadpool_wait').length, 0);
});
