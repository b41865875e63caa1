import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import type { AttributeValue } from '../../../analyzer/src/model/attributes.ts';
import type { Input, Metric } from '../../../analyzer/src/model/input.ts';
import { EPOCH_NS, nestedService, type Step } from './service.ts';

const STEPS: Step[] = [20, 40, 60, 80, 100, 120].map((perSecond) => ({ perSecond, seconds: 3 }));
const SERVICE = { beforeMs: 2, lockedMs: 12, poolSize: 5, slots: 20 };

/** Readings of a pool's pending requests every 100 ms: what the spans say at that time, times a factor. */
function withGauge(factor: number): Input {
  const input = nestedService(STEPS, SERVICE);
  const { windows, resources } = analyze(input);
  const pool = resources.find(({ resource }) => resource === 'pg-pool:signup')!;
  const attributes = new Map<string, AttributeValue>([['db.client.connection.pool.name', 'signup']]);
  const points = windows.flatMap((window, w) =>
    Array.from({ length: 30 }, (_, i) => ({
      kind: 'number' as const,
      timeUnixNano: window.startUnixNano + BigInt(i) * 100_000_000n,
      startUnixNano: null,
      attributes,
      value: factor * (pool.windows[w].meanQueueDepth ?? 0),
    })),
  );
  const metric = {
    name: 'db.client.connection.pending_requests',
    unit: '{request}',
    resource: new Map<string, AttributeValue>([
      ['service.name', 'signup'],
      ['service.instance.id', 'a'],
    ]),
    points,
  } as unknown as Metric;
  assert.ok(windows[0].startUnixNano >= EPOCH_NS);
  return { ...input, metrics: [metric] };
}

const disagreeing = (input: Input) =>
  analyze(input).verdict.findings.filter(({ id }) => id === 'gauge-disagrees');

test('Little: a gauge that counts what the spans add up to is no finding', () => {
  assert.deepEqual(disagreeing(withGauge(1)), []);
});

test('Little: a gauge that counts twice the waiters says that waits are missing', () => {
  const found = disagreeing(withGauge(2));
  assert.ok(found.length > 0);
  assert.equal(found[0].resource, 'pg-pool:signup');
  assert.match(found[0].text, /pending_requests was .* missing from the export/);
});

test('Little: a gauge that counts half of them says that the spans say too much', () => {
  assert.match(disagreeing(withGauge(0.5))[0].text, /spans say more/);
});
