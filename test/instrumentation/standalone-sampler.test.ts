import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { weightFromTraceState } from '../../analyzer/src/aggregate/weights.ts';
import { newIdentity } from '../../instrumentation/src/core/span-id.ts';
import { samplerFromEnv } from '../../instrumentation/src/standalone/sampler.ts';
import { type ExportedSpan, spawnService } from './support/spawned.ts';

const ratioOf = (ratio: string) =>
  samplerFromEnv({ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: ratio })!;

for (const ratio of ['0.25', '0.1', '0.9999', '0.000001']) {
  test(`a ratio of ${ratio} keeps the trace ids that reach the threshold it states`, () => {
    const { root, state } = ratioOf(ratio);
    const text = state!.serialize();
    const digits = /^ot=th:([0-9a-f]{1,14})$/.exec(text)![1];
    const threshold = BigInt(`0x${digits.padEnd(14, '0')}`);
    for (let i = 0; i < 5_000; i++) {
      const span = newIdentity(undefined);
      assert.equal(root(span), BigInt(`0x${span.traceId.slice(-14)}`) >= threshold, span.traceId);
    }
    assert.ok(Math.abs(weightFromTraceState(text)! * Number(ratio) - 1) < 1e-9);
  });
}

test('nothing is stated where nothing is left out, nothing is kept, or each service decides alone', () => {
  assert.equal(ratioOf('1').state, undefined);
  assert.equal(ratioOf('0').state, undefined);
  assert.equal(ratioOf('0').root(newIdentity(undefined)), false);
  const alone = samplerFromEnv({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' })!;
  assert.equal(alone.state, undefined);
});

test('every span of a trace that a service begins states the threshold; one of another stays as it came', async () => {
  const service = await spawnService('everything.mjs', {
    WAITFALL_MODE: 'standalone',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  });
  try {
    const sent = 64;
    for (let i = 0; i < sent; i++) await (await fetch(`${service.url}/orgs/1/items/2`)).arrayBuffer();
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, tracestate: 'vendor=1' };
    await (await fetch(`${service.url}/orgs/1/items/2`, { headers })).arrayBuffer();
    let spans: ExportedSpan[] = [];
    for (let i = 0; i < 100 && !spans.some((span) => span.traceId === traceId); i++) {
      await sleep(50);
      try {
        spans = service.spans();
      } catch {
        // Not written yet.
      }
    }
    const own = spans.filter((span) => span.traceId !== traceId);
    assert.ok(own.length > 0);
    assert.ok(new Set(own.map((span) => span.traceId)).size < sent);
    for (const span of own) assert.equal(span.traceState, 'ot=th:8');
    assert.equal(spans.find((span) => span.traceId === traceId)?.traceState, 'vendor=1');
  } finally {
    service.process.kill();
  }
});
