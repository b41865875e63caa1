import assert from 'node:assert/strict';
import { test } from 'node:test';
import { weightFromTraceState } from '../../analyzer/src/aggregate/weights.ts';
import type { Input } from '../../analyzer/src/model/input.ts';
import { attribute, FLAG } from '../../analyzer/src/model/span-table.ts';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { SAMPLING_GATES, skipWithoutCollector as skip } from './support/binary.ts';
import { startCollector, until } from './support/collector.ts';
import { reportOf } from './support/report-of.ts';
import { spansByTrace, subfolder, testFolder } from './support/spans-of.ts';
import { makeTraffic, type Request, send, spanCount } from './support/traffic.ts';

const SHARE = 0.2;
const traffic = makeTraffic({
  seed: 5,
  requests: 3000,
  startUnixNano: 1_790_000_000_000_000_000n,
  arrivalsPerSecond: 100,
  instances: 2,
});

/** Sends the traffic through gateway.yaml and reads what it kept. */
async function sampled(t: import('node:test').TestContext, args: readonly string[]): Promise<Input> {
  const out = subfolder(testFolder(t), 'out');
  const gateway = await startCollector({
    config: 'gateway.yaml',
    env: {
      WAITFALL_DIR: out,
      WAITFALL_SHARE_PERCENT: String(SHARE * 100),
      WAITFALL_DECISION_WAIT: '2s',
      WAITFALL_METRICS_INTERVAL: '1s',
    },
    args,
  });
  t.after(() => gateway.kill());
  assert.equal((await send(gateway.otlpHttp, traffic)).accepted, spanCount(traffic));
  await until('every trace decided', async () => {
    const name = 'otelcol_processor_tail_sampling_global_count_traces_sampled';
    return (await gateway.counter(name)) >= traffic.length;
  });
  assert.equal(await gateway.counter('otelcol_processor_tail_sampling_sampling_trace_dropped_too_early'), 0);
  await gateway.stop();
  return readInputs([out]);
}

/** Trace state of every trace's root. */
function rootTraceStates({ table }: Input): Map<string, string> {
  const states = new Map<string, string>();
  for (let row = 0; row < table.length; row++) {
    if (table.flags[row] & FLAG.noParent) {
      states.set(table.traceIds[table.trace[row]], table.strings.text(table.traceState[row]));
    }
  }
  return states;
}

/** Smallest value with at least `p` of the weight at or below it. */
function weightedQuantile(values: readonly { value: number; weight: number }[], p: number): number {
  const sorted = [...values].sort((a, b) => a.value - b.value);
  const total = sorted.reduce((sum, { weight }) => sum + weight, 0);
  let below = 0;
  for (const { value, weight } of sorted) {
    below += weight;
    if (below >= p * total) return value;
  }
  return sorted.at(-1)!.value;
}

test('the gateway keeps errors, rejected and slow requests whole, and a weighted share of the rest', {
  skip,
}, async (t) => {
  const input = await sampled(t, [SAMPLING_GATES]);
  const kept = spansByTrace(input);
  const states = rootTraceStates(input);
  const spansOf = (request: Request) => request.own.length + request.behind.length;

  const special = traffic.filter((request) => request.fate !== 'fast');
  for (const fate of ['error', 'rejected', 'slow']) {
    assert.ok(special.filter((request) => request.fate === fate).length > 30, fate);
  }
  for (const request of special) assert.equal(kept.get(request.traceId), spansOf(request), request.fate);
  const fast = traffic.filter((request) => request.fate === 'fast');
  const keptFast = fast.filter((request) => kept.has(request.traceId));
  for (const request of keptFast) assert.equal(kept.get(request.traceId), spansOf(request));
  const sigma = Math.sqrt(fast.length * SHARE * (1 - SHARE));
  assert.ok(Math.abs(keptFast.length - fast.length * SHARE) < 4 * sigma, `${keptFast.length} kept`);

  for (const request of special) assert.equal(weightFromTraceState(states.get(request.traceId)!), 1);
  for (const request of keptFast) {
    const weight = weightFromTraceState(states.get(request.traceId)!)!;
    assert.ok(Math.abs(weight - 1 / SHARE) < 0.001, `weight ${weight}`);
  }

  const weighted = traffic
    .filter((request) => kept.has(request.traceId))
    .map(({ traceId, durationNs }) => ({
      value: durationNs,
      weight: weightFromTraceState(states.get(traceId)!)!,
    }));
  const requests = weighted.reduce((sum, { weight }) => sum + weight, 0);
  assert.ok(Math.abs(requests / traffic.length - 1) < 0.05, `${requests} for ${traffic.length} requests`);
  const all = traffic.map(({ durationNs }) => ({ value: durationNs, weight: 1 }));
  for (const p of [0.5, 0.99]) {
    const [estimate, truth] = [weightedQuantile(weighted, p), weightedQuantile(all, p)];
    assert.ok(Math.abs(estimate / truth - 1) < 0.1, `p${p}: ${estimate} for ${truth}`);
  }
});

test('arrivals, waits and holds are measured before sampling', { skip }, async (t) => {
  const { metrics } = await sampled(t, [SAMPLING_GATES]);
  const points = (name: string) =>
    metrics.filter((metric) => metric.name === name).flatMap((metric) => metric.points);
  const arrivals = points('waitfall.before_sampling.calls')
    .filter((point) => point.attributes.get('http.route') === '/signup')
    .reduce((sum, point) => sum + (point.kind === 'number' ? Number(point.value) : 0), 0);
  assert.equal(arrivals, traffic.length);

  const sums = (name: string) =>
    points(name)
      .filter((point) => point.attributes.get('waitfall.resource') === 'pg-pool:signup')
      .reduce(
        (total, point) =>
          point.kind === 'number'
            ? total
            : {
                count: total.count + Number(point.count),
                seconds: total.seconds + (point.sum ?? Number.NaN),
              },
        { count: 0, seconds: 0 },
      );
  const waits = sums('waitfall.before_sampling.duration');
  assert.equal(waits.count, traffic.length);
  const holdNs = traffic
    .flatMap((request) => request.own)
    .flatMap((span) => span['attributes'] as { key: string; value: { intValue?: string } }[])
    .filter(({ key }) => key === 'waitfall.hold.duration_ns')
    .map(({ value }) => Number(value.intValue));
  const holds = sums('waitfall.before_sampling.hold.duration');
  assert.equal(holds.count, holdNs.length);
  const expected = holdNs.reduce((sum, ns) => sum + ns, 0) / 1e9;
  assert.ok(Math.abs(holds.seconds / expected - 1) < 1e-6, `${holds.seconds} s of ${expected} s`);
});

test('without the feature gates a kept trace still says that it was chosen', { skip }, async (t) => {
  const input = await sampled(t, []);
  const { table } = input;
  assert.ok(table.length > 0);
  for (let row = 0; row < table.length; row++) {
    assert.notEqual(attribute(table, row, 'tailsampling.policy'), undefined, `row ${row}`);
  }
  const findings = reportOf(input).verdict.findings.map((finding) => finding.id);
  assert.ok(findings.includes('sampled-without-weights'), findings.join());
});
