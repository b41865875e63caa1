import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { CpuMeter } from '../../sample-app/src/machine/cpu.ts';

const linux = existsSync('/proc/self/stat');

test('CPU use of this process is seen, and is not counted as somebody else', { skip: !linux }, () => {
  const meter = new CpuMeter({ self: process.pid, gone: 2 ** 22 + 1 });
  const before = process.cpuUsage();
  const startedMs = performance.now();
  while (performance.now() - startedMs < 150);
  const used = process.cpuUsage(before);
  const { byName, others } = meter.read();
  const expected = (used.user + used.system) / 1000 / (performance.now() - startedMs);
  // Ticks of 10 ms: two of them may be missing or too many.
  assert.ok(Math.abs(byName['self']! - expected) < 0.25, `${byName['self']} for ${expected}`);
  assert.equal(byName['gone'], null);
  assert.equal(others, null, 'with one process unknown the rest is unknown too');
});
