import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { skipWithoutCollector as skip } from './support/binary.ts';
import { startCollector, until } from './support/collector.ts';
import { spansAsText, subfolder, testFolder } from './support/spans-of.ts';
import { exportRequest, makeTraffic, send, spanCount } from './support/traffic.ts';

const traffic = makeTraffic({
  seed: 1,
  requests: 400,
  startUnixNano: 1_790_000_000_123_456_789n,
  arrivalsPerSecond: 100,
  instances: 2,
});

test('local.yaml writes every span it took, as it was sent', { skip }, async (t) => {
  const folder = testFolder(t);
  const out = subfolder(folder, 'out');
  const collector = await startCollector({ config: 'local.yaml', env: { WAITFALL_DIR: out } });
  t.after(() => collector.kill());
  const sent = await send(collector.otlpHttp, traffic);
  assert.deepEqual(sent, { accepted: spanCount(traffic), refused: 0, unanswered: 0 });
  await collector.stop();

  const direct = join(folder, 'direct.jsonl');
  const lines = [exportRequest(traffic, 'own'), exportRequest(traffic, 'behind')];
  writeFileSync(direct, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const [written, expected] = [await readInputs([out]), await readInputs([direct])];
  assert.deepEqual(written.rejected, []);
  assert.equal(written.table.length, spanCount(traffic));
  assert.deepEqual(spansAsText(written), spansAsText(expected));
});

test('local.yaml writes what the machine was doing beside the traces', { skip }, async (t) => {
  const out = subfolder(testFolder(t), 'out');
  const collector = await startCollector({
    config: 'local.yaml',
    env: { WAITFALL_DIR: out, WAITFALL_HOST_METRICS_INTERVAL: '1s' },
  });
  t.after(() => collector.kill());
  await until(
    'two scrapes',
    async () => (await collector.counter('otelcol_exporter_sent_metric_points')) > 100,
  );
  await collector.stop();
  assert.ok(readdirSync(out).includes('metrics.jsonl'));
  const { metrics, rejected } = await readInputs([out]);
  assert.deepEqual(rejected, []);
  const names = new Set(metrics.map((metric) => metric.name));
  for (const name of [
    'system.cpu.time',
    'system.cpu.load_average.1m',
    'system.processes.count',
    'system.memory.usage',
    'system.disk.io',
    'system.network.io',
  ]) {
    assert.ok(names.has(name), `${name} is missing: ${[...names].sort().join(', ')}`);
  }
  assert.deepEqual([...new Set(metrics.map((metric) => metric.resource.get('host.name')))], [hostname()]);
});

test('a restart of local.yaml goes on with the same file', { skip }, async (t) => {
  const out = subfolder(testFolder(t), 'out');
  for (const half of [traffic.slice(0, 200), traffic.slice(200)]) {
    const collector = await startCollector({ config: 'local.yaml', env: { WAITFALL_DIR: out } });
    t.after(() => collector.kill());
    assert.equal((await send(collector.otlpHttp, half)).accepted, spanCount(half));
    await collector.stop();
  }
  assert.equal((await readInputs([out])).table.length, spanCount(traffic));
});
