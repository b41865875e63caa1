import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { skipWithoutCollector as skip } from './support/binary.ts';
import { startCollector, until } from './support/collector.ts';
import { spansAsText, subfolder, testFolder } from './support/spans-of.ts';
import { makeTraffic, send, spanCount } from './support/traffic.ts';

test('replay.yaml sends stored files again, without a change', { skip }, async (t) => {
  const traffic = makeTraffic({
    seed: 2,
    requests: 300,
    startUnixNano: 1_790_000_000_000_000_000n,
    arrivalsPerSecond: 100,
  });
  const folder = testFolder(t);
  const [stored, replayed] = [subfolder(folder, 'stored'), subfolder(folder, 'replayed')];
  const first = await startCollector({ config: 'local.yaml', env: { WAITFALL_DIR: stored } });
  t.after(() => first.kill());
  await send(first.otlpHttp, traffic);
  await first.stop();

  const second = await startCollector({ config: 'local.yaml', env: { WAITFALL_DIR: replayed } });
  t.after(() => second.kill());
  const replay = await startCollector({
    config: 'replay.yaml',
    env: { WAITFALL_DIR: stored, WAITFALL_REPLAY_ENDPOINT: second.otlpHttp },
  });
  t.after(() => replay.kill());
  await until(
    'every span sent again',
    async () => (await replay.counter('otelcol_exporter_sent_spans')) >= spanCount(traffic),
  );
  await replay.stop();
  await second.stop();
  assert.deepEqual(spansAsText(await readInputs([replayed])), spansAsText(await readInputs([stored])));
});
