import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipWithoutCollector as skip } from './support/binary.ts';
import { startCollector, until } from './support/collector.ts';
import { testFolder } from './support/spans-of.ts';
import { makeTraffic, send, spanCount } from './support/traffic.ts';

test('clickhouse.yaml keeps what it took on disk while the database is away, over a crash too', {
  skip,
}, async (t) => {
  // Port 9 (discard) on the loopback interface: nobody listens.
  const env = { WAITFALL_QUEUE_DIR: testFolder(t), WAITFALL_CLICKHOUSE_ENDPOINT: 'tcp://127.0.0.1:9' };
  const traffic = makeTraffic({
    seed: 10,
    requests: 500,
    startUnixNano: 1_790_000_000_000_000_000n,
    arrivalsPerSecond: 100,
  });
  const first = await startCollector({ config: 'clickhouse.yaml', env });
  t.after(() => first.kill());
  assert.equal((await send(first.otlpHttp, traffic)).accepted, spanCount(traffic));
  assert.equal(await first.counter('otelcol_exporter_queue_size'), spanCount(traffic));
  await first.kill();

  const second = await startCollector({ config: 'clickhouse.yaml', env });
  t.after(() => second.kill());
  await until(
    'the queue is back',
    async () => (await second.counter('otelcol_exporter_queue_size')) === spanCount(traffic),
  );
});
