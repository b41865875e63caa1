import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { skipWithoutCollector as skip } from './support/binary.ts';
import { NO_MEMORY, startCollector } from './support/collector.ts';
import { subfolder, testFolder } from './support/spans-of.ts';
import { makeTraffic, send, spanCount } from './support/traffic.ts';

test('a collector short of memory refuses, says so, and counts it', { skip }, async (t) => {
  const out = subfolder(testFolder(t), 'out');
  const collector = await startCollector({
    config: 'local.yaml',
    env: { WAITFALL_DIR: out },
    overrides: NO_MEMORY,
  });
  t.after(() => collector.kill());
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const traffic = makeTraffic({
    seed: 7,
    requests: 300,
    startUnixNano: 1_790_000_000_000_000_000n,
    arrivalsPerSecond: 100,
  });
  const sent = await send(collector.otlpHttp, traffic);
  assert.equal(sent.unanswered, 0);
  assert.equal(sent.refused, spanCount(traffic));
  assert.equal(await collector.counter('otelcol_receiver_refused_spans'), sent.refused);
  await collector.stop();
  assert.equal((await readInputs([out])).table.length, 0);
});
