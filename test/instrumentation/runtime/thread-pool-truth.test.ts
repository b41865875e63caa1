/**
 * Waits for a thread against moments that this test decides: opening a named pipe keeps a thread until somebody opens
 * its other end.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { patchThreadPool } from '../../../instrumentation/src/runtime/thread-pool/patch-thread-pool.ts';
import { type Recorded, type Recording, request, startRecording } from '../support/recording.ts';

const THREADS = 4;
const HELD_MS = 120;
/** How far a measured moment may be from the true one: the turn of the event loop that learns of it, on a busy machine. */
const BOUND_MS = 40;

const require = createRequire(import.meta.url);
const fs: typeof import('node:fs') = require('node:fs');
const crypto: typeof import('node:crypto') = require('node:crypto');
/** As it is without us: what it keeps busy is not counted. */
const unseenOpen = fs.open;

let recording: Recording;
let directory: string;
before(() => {
  recording = startRecording({ official: false });
  patchThreadPool({ threadPool: true });
  directory = mkdtempSync(join(tmpdir(), 'waitfall-pipes-'));
});
after(() => {
  recording.stop();
  rmSync(directory, { recursive: true });
});
beforeEach(() => recording.clear());

/** A call that keeps a thread busy until it is let go. */
class Blocked {
  static #count = 0;
  readonly #path = join(directory, `pipe-${Blocked.#count++}`);
  readonly done: Promise<void>;
  readonly startMs: number;

  constructor(open: typeof fs.open) {
    execFileSync('mkfifo', [this.#path]);
    this.startMs = performance.now();
    this.done = new Promise((resolve, reject) => {
      open(this.#path, 'r', (error, fd) => {
        if (error) reject(error);
        else {
          fs.closeSync(fd);
          resolve();
        }
      });
    });
  }

  /** @returns when its thread was free. */
  letGo(): number {
    const other = fs.openSync(this.#path, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
    void this.done.then(() => fs.closeSync(other));
    return performance.now();
  }
}

const random = () =>
  new Promise<number>((resolve, reject) =>
    crypto.randomBytes(16, (error) => (error ? reject(error) : resolve(performance.now()))),
  );

/** Four calls keep all threads; another one comes behind them. @returns when it came, and when a thread was free. */
async function behind(open: typeof fs.open): Promise<{ cameMs: number; freeMs: number }> {
  const blocked = Array.from({ length: THREADS }, () => new Blocked(open));
  await sleep(20);
  const cameMs = performance.now();
  const last = random();
  await sleep(HELD_MS);
  const freeMs = blocked[0].letGo();
  await last;
  for (const one of blocked.slice(1)) one.letGo();
  await Promise.all(blocked.map(({ done }) => done));
  return { cameMs, freeMs };
}

const of = (name: string, value: string) => (span: Recorded) => span.attributes[`waitfall.${name}`] === value;
const boundOf = (span: Recorded, which: 'min' | 'max') =>
  (span.attributes[`waitfall.estimate.${which}_ns`] as number) / 1e6;
const near = (measured: number, truth: number, what: string) =>
  assert.ok(Math.abs(measured - truth) <= BOUND_MS + 0.05 * truth, `${what}: ${measured} of ${truth} ms`);

test('a call waits until a thread is let go, and what kept the threads is the time of files', async () => {
  const { value } = await request(() => behind(fs.open));
  await sleep(50);
  const waits = recording.segment('threadpool_wait');
  assert.equal(waits.length, THREADS + 1);
  const last = waits.reduce((a, b) => (a.startMs > b.startMs ? a : b));
  near(last.lengthMs, value.freeMs - value.cameMs, 'the wait');
  assert.ok(boundOf(last, 'min') <= value.freeMs - value.cameMs + BOUND_MS);
  assert.ok(boundOf(last, 'max') >= value.freeMs - value.cameMs - BOUND_MS);
  for (const wait of waits) if (wait !== last) assert.ok(wait.lengthMs < BOUND_MS, `${wait.lengthMs} ms`);
  const files = recording.segment('downstream').filter(of('resource', 'filesystem'));
  assert.equal(files.length, THREADS);
  for (const span of files) assert.equal(span.name, 'fs.open');
  const first = files.reduce((a, b) => (a.lengthMs < b.lengthMs ? a : b));
  assert.ok(first.lengthMs >= HELD_MS, `${first.lengthMs} ms`);
});

test('threads that are kept by what nobody counts show in the bounds', async () => {
  const { value } = await request(() => behind(unseenOpen));
  await sleep(50);
  const waits = recording.segment('threadpool_wait');
  assert.equal(waits.length, 1);
  const trueMs = value.freeMs - value.cameMs;
  assert.ok(
    boundOf(waits[0], 'min') <= trueMs + BOUND_MS,
    `at least ${boundOf(waits[0], 'min')} of ${trueMs}`,
  );
  assert.ok(
    boundOf(waits[0], 'max') >= trueMs - BOUND_MS,
    `at most ${boundOf(waits[0], 'max')} of ${trueMs}`,
  );
});

test('work that begins late is measured from when it began', async () => {
  const rounds = 150_000;
  const derive = () =>
    new Promise<void>((resolve, reject) =>
      crypto.pbkdf2('secret', 'salt', rounds, 64, 'sha512', (error) => (error ? reject(error) : resolve())),
    );
  const { value: doneMs } = await request(async () => {
    const blocked = Array.from({ length: THREADS }, () => new Blocked(fs.open));
    const late = derive().then(() => performance.now());
    await sleep(HELD_MS);
    const freeMs = blocked[0].letGo();
    const atMs = await late;
    for (const one of blocked.slice(1)) one.letGo();
    await Promise.all(blocked.map(({ done }) => done));
    return { freeMs, atMs };
  });
  await sleep(50);
  const [work] = recording.segment('work').filter(of('resource', 'threadpool'));
  assert.equal(work.name, 'crypto.pbkdf2');
  near(work.lengthMs, doneMs.atMs - doneMs.freeMs, 'the work');
  // It is the work of another thread than the one whose sum the root states.
  const root = recording.spans().find((span) => span.parentId === undefined);
  assert.ok(((root?.attributes['waitfall.time.work_ns'] as number | undefined) ?? 0) < work.lengthMs * 1e6);
});

test('a name that is looked up for nothing but itself is the time of name servers', async () => {
  const dns: typeof import('node:dns') = require('node:dns');
  let leastMissedMs = Number.POSITIVE_INFINITY;
  // A process that gets no core between two readings of the clock is off once, not five times.
  for (let attempt = 0; attempt < 5; attempt++) {
    recording.clear();
    const { value: tookMs } = await request(async () => {
      const startMs = performance.now();
      await new Promise<void>((resolve) => dns.lookup('localhost', () => resolve()));
      return performance.now() - startMs;
    });
    await sleep(20);
    const spans = recording.segment('downstream').filter(of('resource', 'dns'));
    // Too short for a span where the name is answered at once.
    assert.ok(spans.length <= 1);
    const recordedMs = spans[0]?.lengthMs ?? 0;
    assert.ok(recordedMs <= tookMs + 1, `${recordedMs} of ${tookMs} ms`);
    leastMissedMs = Math.min(leastMissedMs, tookMs - recordedMs);
  }
  assert.ok(leastMissedMs <= BOUND_MS, `${leastMissedMs} ms are missed`);
});
