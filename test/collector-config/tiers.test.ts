import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { SAMPLING_GATES, skipWithoutCollector as skip } from './support/binary.ts';
import { startCollector, until } from './support/collector.ts';
import { spansByTrace, subfolder, testFolder } from './support/spans-of.ts';
import { makeTraffic, send, spanCount } from './support/traffic.ts';

test('an agent sends every span of a trace to the same of two gateways', { skip }, async (t) => {
  const traffic = makeTraffic({
    seed: 4,
    requests: 600,
    startUnixNano: 1_790_000_000_000_000_000n,
    arrivalsPerSecond: 100,
    instances: 3,
  });
  const folder = testFolder(t);
  const outs = [subfolder(folder, 'gateway-1'), subfolder(folder, 'gateway-2')];
  const gateways = await Promise.all(
    outs.map((WAITFALL_DIR) =>
      startCollector({
        config: 'gateway.yaml',
        env: { WAITFALL_DIR, WAITFALL_SHARE_PERCENT: '100', WAITFALL_DECISION_WAIT: '1s' },
        args: [SAMPLING_GATES],
      }),
    ),
  );
  for (const gateway of gateways) t.after(() => gateway.kill());
  const addresses = gateways.map((gateway) => `127.0.0.1:${gateway.grpcPort}`);
  const agent = await startCollector({
    config: 'agent.yaml',
    env: { WAITFALL_GATEWAYS: `[${addresses.join(', ')}]`, WAITFALL_METRICS_GATEWAY: addresses[0] },
  });
  t.after(() => agent.kill());

  // The two services export on their own, so both halves of a trace arrive in different requests.
  assert.equal((await send(agent.otlpHttp, traffic, 50)).accepted, spanCount(traffic));
  await until('both gateways have all spans', async () => {
    const received = await Promise.all(gateways.map((g) => g.counter('otelcol_receiver_accepted_spans')));
    return received[0] + received[1] >= spanCount(traffic);
  });
  await agent.stop();
  for (const gateway of gateways) await gateway.stop();

  const [first, second] = await Promise.all(outs.map(async (out) => spansByTrace(await readInputs([out]))));
  assert.deepEqual(
    [...first.keys()].filter((traceId) => second.has(traceId)),
    [],
    'traces on both gateways',
  );
  const all = new Map([...first, ...second]);
  for (const { traceId, own, behind } of traffic) assert.equal(all.get(traceId), own.length + behind.length);
  assert.equal(all.size, traffic.length);
  for (const side of [first, second]) assert.ok(side.size > traffic.length * 0.2, `${side.size} traces`);
});

test('an agent waits out the death of a gateway, and every trace still ends up whole', {
  skip,
}, async (t) => {
  const traffic = makeTraffic({
    seed: 12,
    requests: 300,
    startUnixNano: 1_790_000_000_000_000_000n,
    arrivalsPerSecond: 100,
  });
  const folder = testFolder(t);
  const outs = [subfolder(folder, 'gateway-1'), subfolder(folder, 'gateway-2')];
  const start = async (i: number, grpcPort?: number) => {
    const gateway = await startCollector({
      config: 'gateway.yaml',
      env: { WAITFALL_DIR: outs[i], WAITFALL_SHARE_PERCENT: '100', WAITFALL_DECISION_WAIT: '1s' },
      args: [SAMPLING_GATES],
      grpcPort,
    });
    t.after(() => gateway.kill());
    return gateway;
  };
  const gateways = [await start(0), await start(1)];
  const addresses = gateways.map((gateway) => `127.0.0.1:${gateway.grpcPort}`);
  const agent = await startCollector({
    config: 'agent.yaml',
    env: { WAITFALL_GATEWAYS: `[${addresses.join(', ')}]`, WAITFALL_METRICS_GATEWAY: addresses[0] },
  });
  t.after(() => agent.kill());

  await gateways[1].kill();
  assert.equal((await send(agent.otlpHttp, traffic)).accepted, spanCount(traffic));
  gateways[1] = await start(1, gateways[1].grpcPort);
  await until('both gateways have all spans', async () => {
    const received = await Promise.all(gateways.map((g) => g.counter('otelcol_receiver_accepted_spans')));
    return received[0] + received[1] >= spanCount(traffic);
  });
  await agent.stop();
  for (const gateway of gateways) await gateway.stop();
  const [first, second] = await Promise.all(outs.map(async (out) => spansByTrace(await readInputs([out]))));
  assert.ok(second.size > 0, 'nothing waited for the second gateway');
  for (const { traceId, own, behind } of traffic) {
    assert.equal((first.get(traceId) ?? 0) + (second.get(traceId) ?? 0), own.length + behind.length);
    assert.ok(!(first.has(traceId) && second.has(traceId)), traceId);
  }
});
