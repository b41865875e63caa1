/**
 * Every function that gives its work to a thread, behind threads that this test keeps until it lets them go: each wait
 * begins with its call, and ends after a thread was let go and before the caller has its answer, however busy the machine.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { patchThreadPool } from '../../../instrumentation/src/runtime/thread-pool/patch-thread-pool.ts';
import { assertBetween, moment } from '../support/moments.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';

const THREADS = 4;
const require = createRequire(import.meta.url);
const fs: typeof import('node:fs') = require('node:fs');
const zlib: typeof import('node:zlib') = require('node:zlib');
const crypto: typeof import('node:crypto') = require('node:crypto');
const dns: typeof import('node:dns') = require('node:dns');
const { openSync, closeSync } = fs;

let recording: Recording;
let directory: string;
before(() => {
  recording = startRecording({ official: false });
  patchThreadPool({ threadPool: true });
  directory = mkdtempSync(join(tmpdir(), 'waitfall-kinds-'));
});
after(() => {
  recording.stop();
  rmSync(directory, { recursive: true });
});
beforeEach(() => recording.clear());

/** Keeps every thread busy. @returns what lets them go. */
async function takeAllThreads(): Promise<() => Promise<void>> {
  const pipes = Array.from({ length: THREADS }, (_, index) => join(directory, `pipe-${index}`));
  execFileSync('mkfifo', pipes);
  const open = pipes.map(
    (path) =>
      new Promise<void>((resolve, reject) => {
        fs.open(path, 'r', (error, fd) => {
          if (error) return reject(error);
          closeSync(fd);
          resolve();
        });
      }),
  );
  await sleep(20);
  return async () => {
    const others = pipes.map((path) => openSync(path, fs.constants.O_RDWR | fs.constants.O_NONBLOCK));
    await Promise.all(open);
    for (const fd of others) closeSync(fd);
    for (const path of pipes) rmSync(path);
  };
}

type Done = (error: unknown) => void;
/** Starts one call; it is done when it calls back or its promise settles. */
type Call = (done: Done) => unknown;

/** Files that each call finds as it needs them. */
function files(where: string) {
  mkdirSync(where);
  const path = (name: string) => join(where, name);
  const made = (name: string) => {
    writeFileSync(path(name), 'text');
    return path(name);
  };
  const folder = (name: string) => {
    mkdirSync(path(name));
    return path(name);
  };
  const link = (name: string) => {
    symlinkSync('/', path(name));
    return path(name);
  };
  return { path, made, folder, link, fd: (name: string) => openSync(made(name), 'r+') };
}

function fsCalls(): Record<string, Call> {
  const { path, made, folder, link, fd } = files(join(directory, 'callbacks'));
  const { uid, gid } = fs.statSync(directory);
  const bytes = Buffer.from('x');
  const fds = { close: fd('close'), open: fd('fd') };
  const one: Record<string, Call> = {
    access: (done) => fs.access(made('access'), done),
    chmod: (done) => fs.chmod(made('chmod'), 0o600, done),
    chown: (done) => fs.chown(made('chown'), uid, gid, done),
    close: (done) => fs.close(fds.close, done),
    copyFile: (done) => fs.copyFile(made('copyFile'), path('copied'), done),
    fdatasync: (done) => fs.fdatasync(fds.open, done),
    fstat: (done) => fs.fstat(fds.open, done),
    fsync: (done) => fs.fsync(fds.open, done),
    ftruncate: (done) => fs.ftruncate(fds.open, 1, done),
    lstat: (done) => fs.lstat(directory, done),
    mkdir: (done) => fs.mkdir(path('mkdir'), done),
    mkdtemp: (done) => fs.mkdtemp(path('mkdtemp'), done),
    open: (done) =>
      fs.open(made('open'), 'r', (error, fd) => {
        if (fd !== undefined) closeSync(fd);
        done(error);
      }),
    opendir: (done) =>
      fs.opendir(directory, (error, opened) => {
        opened?.closeSync();
        done(error);
      }),
    read: (done) => fs.read(fds.open, bytes, 0, 1, 0, done),
    readFile: (done) => fs.readFile(made('readFile'), done),
    readdir: (done) => fs.readdir(directory, done),
    readlink: (done) => fs.readlink(link('readlink'), done),
    rename: (done) => fs.rename(made('rename'), path('renamed'), done),
    rmdir: (done) => fs.rmdir(folder('rmdir'), done),
    stat: (done) => fs.stat(directory, done),
    statfs: (done) => fs.statfs(directory, done),
    symlink: (done) => fs.symlink('/', path('symlink'), done),
    unlink: (done) => fs.unlink(made('unlink'), done),
    utimes: (done) => fs.utimes(made('utimes'), 1, 1, done),
    write: (done) => fs.write(fds.open, bytes, done),
    writev: (done) => fs.writev(fds.open, [bytes], done),
  };
  return Object.fromEntries(Object.entries(one).map(([name, call]) => [`fs.${name}`, call]));
}

function promisedCalls(): Record<string, Call> {
  const { promises } = fs;
  const { path, made, folder, link } = files(join(directory, 'promises'));
  const { uid, gid } = fs.statSync(directory);
  const one: Record<string, () => Promise<unknown>> = {
    access: () => promises.access(made('access')),
    appendFile: () => promises.appendFile(made('appendFile'), 'x'),
    chmod: () => promises.chmod(made('chmod'), 0o600),
    chown: () => promises.chown(made('chown'), uid, gid),
    copyFile: () => promises.copyFile(made('copyFile'), path('copied')),
    lstat: () => promises.lstat(directory),
    mkdir: () => promises.mkdir(path('mkdir')),
    mkdtemp: () => promises.mkdtemp(path('mkdtemp')),
    open: () => promises.open(made('open')).then((file) => file.close()),
    opendir: () => promises.opendir(directory).then((opened) => opened.closeSync()),
    readFile: () => promises.readFile(made('readFile')),
    readdir: () => promises.readdir(directory),
    readlink: () => promises.readlink(link('readlink')),
    rename: () => promises.rename(made('rename'), path('renamed')),
    rmdir: () => promises.rmdir(folder('rmdir')),
    stat: () => promises.stat(directory),
    statfs: () => promises.statfs(directory),
    symlink: () => promises.symlink('/', path('symlink')),
    truncate: () => promises.truncate(made('truncate'), 1),
    unlink: () => promises.unlink(made('unlink')),
    utimes: () => promises.utimes(made('utimes'), 1, 1),
    writeFile: () => promises.writeFile(path('writeFile'), 'x'),
  };
  return Object.fromEntries(
    Object.entries(one).map(([name, call]) => [
      `fs.promises.${name}`,
      (done: Done) => call().then(() => done(null), done),
    ]),
  );
}

function zlibCalls(): Record<string, Call> {
  const text = Buffer.from('text'.repeat(100));
  const pairs: [string, string][] = [
    ['deflate', 'inflate'],
    ['deflateRaw', 'inflateRaw'],
    ['gzip', 'gunzip'],
    ['gzip', 'unzip'],
    ['brotliCompress', 'brotliDecompress'],
    ['zstdCompress', 'zstdDecompress'],
  ];
  // biome-ignore lint/suspicious/noExplicitAny: by name; not every Node has all of them
  const functions = zlib as any;
  const calls: Record<string, Call> = {};
  for (const [pack, unpack] of pairs) {
    if (functions[pack] === undefined) continue;
    const packed = functions[`${pack}Sync`](text);
    calls[`zlib.${pack}`] = (done) => functions[pack](text, done);
    calls[`zlib.${unpack}`] = (done) => functions[unpack](packed, done);
  }
  return calls;
}

function cryptoCalls(): Record<string, Call> {
  const { privateKey, publicKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const data = Buffer.from('data');
  const signature = crypto.sign('sha256', data, privateKey);
  return {
    'crypto.checkPrime': (done) => crypto.checkPrime(7n, done),
    'crypto.generateKey': (done) => crypto.generateKey('hmac', { length: 64 }, done),
    'crypto.generateKeyPair': (done) => crypto.generateKeyPair('ec', { namedCurve: 'P-256' }, done),
    'crypto.generatePrime': (done) => crypto.generatePrime(32, done),
    'crypto.hkdf': (done) => crypto.hkdf('sha256', 'key', 'salt', 'info', 16, done),
    'crypto.pbkdf2': (done) => crypto.pbkdf2('secret', 'salt', 1, 16, 'sha256', done),
    'crypto.randomBytes': (done) => crypto.randomBytes(8, done),
    'crypto.randomFill': (done) => crypto.randomFill(Buffer.alloc(8), done),
    'crypto.scrypt': (done) => crypto.scrypt('secret', 'salt', 16, { N: 2 }, done),
    'crypto.sign': (done) => crypto.sign('sha256', data, privateKey, done),
    'crypto.verify': (done) => crypto.verify('sha256', data, publicKey, signature, done),
  };
}

/** One call in a request of its own, and the clock on both sides of it. */
function made(call: Call) {
  const at = { fromMs: 0, calledMs: 0, toldMs: 0 };
  const done = request(async () => {
    await new Promise<void>((resolve, reject) => {
      at.fromMs = moment();
      call((error) => (error ? reject(error) : resolve()));
      at.calledMs = moment();
    });
    at.toldMs = moment();
  });
  return { at, done };
}

const MADE_OF_OTHERS: Record<string, (path: string, done: Done) => unknown> = {
  appendFile: (path, done) => fs.appendFile(path, 'x', done),
  truncate: (path, done) => fs.truncate(path, 1, done),
  writeFile: (path, done) => fs.writeFile(path, 'x', done),
  rm: (path, done) => fs.promises.rm(path).then(() => done(null), done),
};

test('what Node makes of others: each step waits by itself, none twice', async () => {
  const { made: file } = files(join(directory, 'composed'));
  for (const [name, call] of Object.entries(MADE_OF_OTHERS)) {
    recording.clear();
    const path = file(name);
    const letGo = await takeAllThreads();
    const { at, done } = made((told) => call(path, told));
    await sleep(30);
    await letGo();
    const { traceId } = await done;
    await sleep(50);
    const waits = recording.segment('threadpool_wait').filter((span) => span.traceId === traceId);
    for (const [index, wait] of waits.entries()) {
      assertBetween(wait.startMs, at.fromMs, at.toldMs, `${name}: a step begins`);
      if (index > 0)
        assert.ok(wait.startMs >= waits[index - 1].endMs - 0.002, `${name}: one after the other`);
    }
  }
});

for (const [kind, callsOf] of Object.entries({
  fs: fsCalls,
  'fs.promises': promisedCalls,
  zlib: zlibCalls,
  crypto: cryptoCalls,
})) {
  test(`each function of ${kind} waits for a thread, and no longer`, async () => {
    const calls = callsOf();
    const letGo = await takeAllThreads();
    const running = Object.entries(calls).map(([name, call]) => ({ name, ...made(call) }));
    await sleep(30);
    const letGoMs = moment();
    await letGo();
    const traces = await Promise.all(running.map(({ done }) => done));
    const waitsOf = (traceId: string) =>
      recording.segment('threadpool_wait').filter((span) => span.traceId === traceId);
    // Written when the job behind them has told when a thread was free.
    for (let tries = 0; tries < 500 && !traces.every(({ traceId }) => waitsOf(traceId).length > 0); tries++)
      await sleep(10);
    for (const [index, { name, at }] of running.entries()) {
      const waits = waitsOf(traces[index].traceId);
      assert.equal(waits.length, 1, `${name}: ${waits.length} waits`);
      const [wait] = waits;
      assert.equal(wait.attributes['waitfall.resource'], 'threadpool');
      assert.equal(wait.attributes['waitfall.resource.capacity'], THREADS);
      assertBetween(wait.startMs, at.fromMs, at.calledMs, `${name}: the wait begins`);
      assertBetween(wait.endMs, letGoMs, at.toldMs, `${name}: a thread takes it`);
      const maxMs = (wait.attributes['waitfall.estimate.max_ns'] as number) / 1e6;
      assert.ok(maxMs >= letGoMs - at.calledMs, `${name}: at most ${maxMs} ms`);
    }
  });
}

test('a name lookup waits for one of its threads, and no longer', async () => {
  const letGo = await takeAllThreads();
  const { at, done } = made((told) => dns.lookup('localhost', told));
  await sleep(30);
  await letGo();
  const { traceId } = await done;
  await sleep(20);
  const waits = recording.segment('threadpool_wait').filter((span) => span.traceId === traceId);
  // Lookups are counted among themselves: none was before it.
  for (const wait of waits) {
    assert.equal(wait.attributes['waitfall.resource'], 'threadpool:dns');
    assertBetween(wait.startMs, at.fromMs, at.calledMs, 'the wait begins');
    assert.ok(wait.endMs <= at.toldMs + 0.002);
  }
});
