import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  findQuota,
  stopWatchingCpuQuota,
  throttledMs,
  watchCpuQuota,
} from '../../../instrumentation/src/runtime/cpu-quota.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';

let recording: Recording;
let directory: string;

before(() => {
  recording = startRecording({ official: false });
  directory = mkdtempSync(join(tmpdir(), 'waitfall-quota-'));
});
after(async () => {
  rmSync(directory, { recursive: true, force: true });
  await recording.stop();
});

/** Files as the kernel shows them. */
function group(name: string, files: Record<string, string>): string {
  const path = join(directory, name);
  mkdirSync(path, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return path;
}

function membership(text: string): string {
  const path = join(directory, 'membership');
  writeFileSync(path, text);
  return path;
}

function busy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('a CPU quota', () => {
  test('is found in version 2 and version 1, and only where there is one', () => {
    group('v2/limited', { 'cpu.max': '50000 100000\n', 'cpu.stat': 'usage_usec 1\nthrottled_usec 2500\n' });
    group('v2/free', { 'cpu.max': 'max 100000\n', 'cpu.stat': 'throttled_usec 0\n' });
    group('v1/cpu,cpuacct/limited', {
      'cpu.cfs_quota_us': '50000\n',
      'cpu.stat': 'nr_throttled 1\nthrottled_time 2500000\n',
    });
    const v2 = findQuota(join(directory, 'v2'), membership('0::/limited\n'));
    const v1 = findQuota(join(directory, 'v1'), membership('4:cpu,cpuacct:/limited\n0::/\n'));
    assert.equal(throttledMs(v2!), 2.5);
    assert.equal(throttledMs(v1!), 2.5);
    assert.equal(findQuota(join(directory, 'v2'), membership('0::/free\n')), undefined);
    assert.equal(findQuota(directory, join(directory, 'nothing')), undefined);
  });

  test('a stall in which the group was throttled is a pause of that length, marked as an estimate', async () => {
    const path = join(group('live', { 'cpu.stat': 'throttled_usec 1000\n' }), 'cpu.stat');
    assert.equal(watchCpuQuota({ path, field: 'throttled_usec', msPerUnit: 1e-3 }), true);
    await request(async () => {
      await sleep(30);
      busy(200);
      writeFileSync(path, 'throttled_usec 41000\n');
      await sleep(20);
    });
    await sleep(300);
    stopWatchingCpuQuota();
    const [pause, ...others] = recording
      .segment('runtime_pause')
      .filter((span) => span.attributes['waitfall.pause.cause'] === 'cpu_throttling');
    assert.equal(others.length, 0);
    assert.ok(Math.abs(pause.lengthMs - 40) < 2, `${pause.lengthMs} ms`);
    assert.equal(pause.attributes['waitfall.estimated'], true);
    assert.equal(pause.attributes['waitfall.estimate.min_ns'], 0);
  });

  test('against a real group, where one can be made: the kernel and we see the same throttling', (context) => {
    const real = `/sys/fs/cgroup/cpu/waitfall-test-${process.pid}`;
    try {
      mkdirSync(real);
      writeFileSync(join(real, 'cpu.cfs_quota_us'), '20000');
    } catch {
      context.skip('needs a writable cgroup with a cpu controller of version 1');
      return;
    }
    const module = new URL('../../../instrumentation/src/runtime/cpu-quota.ts', import.meta.url);
    const script = `
      import { writeFileSync } from 'node:fs';
      writeFileSync('${real}/cgroup.procs', String(process.pid));
      const { findQuota, throttledMs } = await import('${module}');
      const quota = findQuota();
      const until = performance.now() + 600;
      while (performance.now() < until);
      console.log(JSON.stringify({ path: quota?.path, ms: quota && throttledMs(quota) }));
      writeFileSync('/sys/fs/cgroup/cpu/cgroup.procs', String(process.pid));`;
    const child = spawnSync(
      process.execPath,
      ['--conditions=waitfall-source', '--input-type=module', '-e', script],
      { encoding: 'utf8', timeout: 20_000 },
    );
    const kernel = readFileSync(join(real, 'cpu.stat'), 'utf8');
    rmdirSync(real);
    assert.equal(child.status, 0, child.stderr);
    const { path, ms } = JSON.parse(child.stdout);
    const kernelMs = Number(/throttled_time (\d+)/.exec(kernel)?.[1]) / 1e6;
    assert.equal(path, join(real, 'cpu.stat'));
    assert.ok(ms > 100, `throttled for ${ms} ms`);
    assert.ok(ms <= kernelMs + 1 && ms >= kernelMs * 0.5, `${ms} of ${kernelMs} ms`);
  });

  test('a service in a real group: the pause of a request is what the kernel says it was kept from running', (context) => {
    const real = `/sys/fs/cgroup/cpu/waitfall-service-${process.pid}`;
    try {
      mkdirSync(real);
      // More than it can use until it is to be kept from running.
      writeFileSync(join(real, 'cpu.cfs_quota_us'), '800000');
    } catch {
      context.skip('needs a writable cgroup with a cpu controller of version 1');
      return;
    }
    const traces = join(directory, 'throttled.jsonl');
    const script = `
      const { trace } = require('@opentelemetry/api');
      const { readFileSync, writeFileSync } = require('node:fs');
      const { setTimeout: sleep } = require('node:timers/promises');
      const throttledMs = () => Number(/throttled_time (\\d+)/.exec(readFileSync('${real}/cpu.stat', 'utf8'))[1]) / 1e6;
      trace.getTracer('test').startActiveSpan('job', { kind: 1 }, async (span) => {
        await sleep(150);
        writeFileSync('${real}/cpu.cfs_quota_us', '10000');
        const beforeMs = throttledMs();
        const startMs = performance.now();
        // On a machine that gives it less than that, a quota keeps nobody from running: not for long.
        while (throttledMs() - beforeMs < 300 && performance.now() - startMs < 20_000);
        const wallMs = performance.now() - startMs;
        const burnedMs = throttledMs() - beforeMs;
        writeFileSync('${real}/cpu.cfs_quota_us', '800000');
        await sleep(250);
        span.end();
        console.log(JSON.stringify({ wallMs, burnedMs, allMs: throttledMs() }));
      });`;
    const register = new URL('../../../instrumentation/src/register.ts', import.meta.url);
    const child = spawnSync(
      'sh',
      [
        '-c',
        `echo $$ > ${real}/cgroup.procs && exec "$0" "$@"`,
        process.execPath,
        '--conditions=waitfall-source',
        '--import',
        fileURLToPath(register),
        '-e',
        script,
      ],
      { encoding: 'utf8', timeout: 60_000, env: { ...process.env, WAITFALL_TRACE_FILE: traces } },
    );
    rmdirSync(real);
    assert.equal(child.status, 0, child.stderr);
    const { wallMs, burnedMs, allMs } = JSON.parse(child.stdout);
    const pauses = [
      ...readFileSync(traces, 'utf8').matchAll(/\{"traceId"[^}]*"name":"wait_for cpu-quota".*?\}\]/g),
    ]
      .map(([text]) => /"startTimeUnixNano":"(\d+)","endTimeUnixNano":"(\d+)"/.exec(text) as RegExpExecArray)
      .map(([, start, end]) => Number(BigInt(end) - BigInt(start)) / 1e6);
    const pausedMs = pauses.reduce((sum, ms) => sum + ms, 0);
    assert.ok(burnedMs > 50, `throttled for ${burnedMs} ms of ${wallMs} ms`);
    // The watch looks every 100 ms: that much of the stall it may take for its own.
    assert.ok(pausedMs >= Math.min(burnedMs, wallMs - 100) - 1, `${pausedMs} of ${burnedMs} ms`);
    assert.ok(pausedMs <= allMs + 1, `${pausedMs} of ${allMs} ms in all`);
  });
});
