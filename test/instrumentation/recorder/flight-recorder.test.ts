import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LatencyBound } from '../../../instrumentation/src/recorder/latency-bound.ts';
import { SpanRing } from '../../../instrumentation/src/recorder/span-ring.ts';
import { type SpawnedService, spawnService } from '../support/spawned.ts';

const SERVICE = '../../recorder/service.mjs';
const directories: string[] = [];
const services: SpawnedService[] = [];
after(() => {
  // A test that failed has left its own.
  for (const service of services) service.process.kill('SIGKILL');
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

async function start(env: Record<string, string>): Promise<{ service: SpawnedService; directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'waitfall-recorder-'));
  directories.push(directory);
  const service = await spawnService(SERVICE, {
    OTEL_TRACES_SAMPLER: 'always_off',
    WAITFALL_RECORDER: '60s',
    WAITFALL_RECORDER_DIR: directory,
    ...env,
  });
  services.push(service);
  return { service, directory };
}

/** Waits for a file that is written some moments after it was asked for. */
async function fileIn(directory: string): Promise<string | undefined> {
  for (let tries = 0; tries < 100; tries++) {
    const [name] = readdirSync(directory);
    // Written completely: it ends with a line.
    if (name !== undefined && readFileSync(join(directory, name), 'utf8').endsWith('\n'))
      return join(directory, name);
    await sleep(50);
  }
  return undefined;
}

const namesIn = (file: string) =>
  [...readFileSync(file, 'utf8').matchAll(/"name":"(GET|wait_for printer)"/g)].map((match) => match[1]);

async function ask(service: SpawnedService, path: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await (await fetch(`${service.url}${path}`)).text();
}

describe('the flight recorder', () => {
  test('writes on SIGUSR2 what was not sampled, waits and all, and the service goes on', async () => {
    const { service, directory } = await start({});
    await ask(service, '/?ms=3', 5);
    await sleep(20);
    service.process.kill('SIGUSR2');
    const file = await fileIn(directory);
    assert.ok(file, service.stderr());
    const names = namesIn(file);
    assert.equal(names.filter((name) => name === 'GET').length, 5);
    assert.ok(names.includes('wait_for printer'));
    // Said when the file is closed, which is after it can be read.
    for (
      let tries = 0;
      tries < 500 && !service.stderr().includes(`the flight recorder wrote ${file}`);
      tries++
    )
      await sleep(10);
    assert.match(service.stderr(), new RegExp(`the flight recorder wrote ${file}`));
    await ask(service, '/?ms=1', 1);
    assert.equal(await service.stop(), 0);
    assert.throws(() => service.lines(), /ENOENT/, 'nothing was exported');
  });

  test('alone, without a place to send spans, keeps every request', async () => {
    const { service, directory } = await start({ WAITFALL_TRACE_FILE: '', OTEL_TRACES_SAMPLER: '' });
    await ask(service, '/?ms=1', 4);
    service.process.kill('SIGUSR2');
    const file = await fileIn(directory);
    assert.ok(file, service.stderr());
    assert.equal(namesIn(file).filter((name) => name === 'GET').length, 4);
    await service.stop();
  });

  test('writes when it is called, and then begins anew', async () => {
    const { service } = await start({});
    await ask(service, '/?ms=1', 3);
    const first = (await fetch(`${service.url}/dump`)).headers.get('x-file') ?? '';
    assert.equal(namesIn(first).filter((name) => name === 'GET').length, 3);
    const second = (await fetch(`${service.url}/dump`)).headers.get('x-file') ?? '';
    assert.equal(namesIn(second).filter((name) => name === 'GET').length, 1, 'the call before');
    await service.stop();
  });

  test('writes while every thread of the service is taken', async () => {
    const { service, directory } = await start({ UV_THREADPOOL_SIZE: '1' });
    const path = join(directory, '..', `waitfall-pipe-${process.pid}`);
    execFileSync('mkfifo', [path]);
    try {
      await ask(service, `/occupy?path=${path}`, 1);
      await ask(service, '/?ms=1', 3);
      const file = (await fetch(`${service.url}/dump`)).headers.get('x-file') ?? '';
      assert.equal(namesIn(file).filter((name) => name === 'GET').length, 4);
    } finally {
      service.process.kill('SIGKILL');
      rmSync(path);
    }
  });

  test('says where it cannot write, and the service goes on', async () => {
    const { service } = await start({ WAITFALL_RECORDER_DIR: '/nonexistent' });
    await ask(service, '/?ms=1', 2);
    assert.equal((await fetch(`${service.url}/dump`)).headers.get('x-file'), 'none');
    assert.match(service.stderr(), /WAITFALL_RECORDER: cannot write \/nonexistent\//);
    assert.equal(await service.stop(), 0);
  });

  test('writes by itself when the latency breaks its bound', async () => {
    const { service, directory } = await start({ WAITFALL_RECORDER_P99: '40ms' });
    const batch = (ms: number, count: number) =>
      Promise.all(Array.from({ length: count }, () => ask(service, `/?ms=${ms}`, 1)));
    await batch(1, 120);
    await batch(120, 40);
    const file = await fileIn(directory);
    assert.ok(file);
    assert.ok(namesIn(file).length >= 120);
    assert.equal(readdirSync(directory).length, 1);
    await service.stop();
  });
});

describe('the ring', () => {
  const line = (encoder: { add(span: never): void }, traceId: string) =>
    encoder.add({
      name: 'GET',
      kind: 1,
      spanContext: () => ({ traceId, spanId: '1'.repeat(16), traceFlags: 0 }),
      startTime: [1, 0],
      endTime: [1, 5],
      status: { code: 0 },
      attributes: {},
      links: [],
      events: [],
      resource: { attributes: {} },
      instrumentationScope: { name: 'test' },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    } as never);
  const idsIn = (buffers: Buffer[]) =>
    [
      ...Buffer.concat(buffers)
        .toString()
        .matchAll(/"traceId":"(\w)/g),
    ].map((match) => match[1]);

  test('forgets what is older than its window', () => {
    const ring = new SpanRing(5_000, 1e6);
    for (let second = 0; second < 9; second++)
      ring.add((encoder) => line(encoder, String(second).repeat(32)), performance.now() + second * 1_000);
    const kept = idsIn(ring.take(performance.now() + 9_000));
    // What is forgotten is forgotten by the second.
    assert.deepEqual(
      kept.filter((second) => second >= '4'),
      ['4', '5', '6', '7', '8'],
    );
    assert.ok(!kept.includes('2'));
  });

  test('never keeps more than its bytes', () => {
    const ring = new SpanRing(60_000, 20_000);
    for (let i = 0; i < 1_000; i++) {
      ring.add((encoder) => line(encoder, '1'.repeat(32)));
      assert.ok(ring.bytes <= 20_000 + 1_000, `${ring.bytes} bytes`);
    }
    assert.ok(ring.forgotten > 0);
  });
});

test('a bound is broken by more than 1 % of at least 100 requests within 10 s', () => {
  const bound = new LatencyBound(50);
  const broken: boolean[] = [];
  for (let i = 0; i < 300; i++) broken.push(bound.add(i >= 200 ? 80 : 10, 1_000 + i));
  assert.equal(broken.indexOf(true), 202, 'two of 202 are not more than 1 %, three of 203 are');
  const later = new LatencyBound(50);
  for (let i = 0; i < 99; i++) assert.equal(later.add(80, 1_000), false, 'too few');
  assert.equal(later.add(80, 60_000), false, 'the others are too old');
});
