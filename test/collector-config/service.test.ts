import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Input } from '../../analyzer/src/model/input.ts';
import { FLAG } from '../../analyzer/src/model/span-table.ts';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { skipWithoutCollector as skip } from './support/binary.ts';
import { NO_MEMORY, startCollector } from './support/collector.ts';
import { startService } from './support/run-service.ts';
import { spansAsText, subfolder, testFolder } from './support/spans-of.ts';

const REQUESTS = 120;

function roots({ table }: Input): number {
  return table.flags.reduce((sum, flags) => sum + (flags & FLAG.noParent ? 1 : 0), 0);
}

test('an instrumented service through the collector reads as its own trace file does', {
  skip,
}, async (t) => {
  const folder = testFolder(t);
  const [out, direct] = [subfolder(folder, 'out'), join(folder, 'direct.jsonl')];
  const collector = await startCollector({ config: 'local.yaml', env: { WAITFALL_DIR: out } });
  t.after(() => collector.kill());
  const service = await startService(collector.otlpHttp, direct);
  t.after(() => service.kill());
  await service.request(REQUESTS);
  assert.equal(await service.stop(), 0, service.log());
  await collector.stop();
  const [through, own] = [await readInputs([out]), await readInputs([direct])];
  assert.equal(roots(own), REQUESTS);
  assert.deepEqual(spansAsText(through), spansAsText(own));
});

test('a service does not notice that the collector refuses everything', { skip }, async (t) => {
  const folder = testFolder(t);
  const [out, direct] = [subfolder(folder, 'out'), join(folder, 'direct.jsonl')];
  const collector = await startCollector({
    config: 'local.yaml',
    env: { WAITFALL_DIR: out },
    overrides: NO_MEMORY,
  });
  t.after(() => collector.kill());
  await new Promise((resolve) => setTimeout(resolve, 1200));
  const service = await startService(collector.otlpHttp, direct);
  t.after(() => service.kill());
  assert.deepEqual(await service.request(REQUESTS), Array(REQUESTS).fill(200));
  assert.equal(await service.stop(), 0, service.log());
  assert.ok((await collector.counter('otelcol_receiver_refused_spans')) > 0, 'it did refuse');
  assert.equal(roots(await readInputs([direct])), REQUESTS);
});

test('a service does not notice that the collector is killed', { skip }, async (t) => {
  const folder = testFolder(t);
  const [out, direct] = [subfolder(folder, 'out'), join(folder, 'direct.jsonl')];
  const collector = await startCollector({ config: 'local.yaml', env: { WAITFALL_DIR: out } });
  t.after(() => collector.kill());
  const service = await startService(collector.otlpHttp, direct);
  t.after(() => service.kill());
  const before = await service.request(REQUESTS / 2);
  await collector.kill();
  const after = await service.request(REQUESTS / 2);
  assert.deepEqual([...before, ...after], Array(REQUESTS).fill(200));
  assert.equal(await service.stop(), 0, service.log());
  assert.equal(roots(await readInputs([direct])), REQUESTS);
});
