import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { requestLines } from '../../../analyzer/src/report/requests.ts';
import { analyzeText } from './analyze-text.ts';
import { EPOCH, otlp, signup, spanId, traceId } from './otlp.ts';

const lines = async (spans: Parameters<typeof otlp>[0]) =>
  [...requestLines(await analyzeText({ 'a.json': otlp(spans) }))].map((line) => JSON.parse(line));

test('a request line has the documented keys, and its segments sum to its duration', async () => {
  const [line, ...rest] = await lines(signup(1, 0));
  assert.equal(rest.length, 0);
  assert.deepEqual(line, {
    traceId: traceId(1),
    rootSpanId: spanId(16),
    root: 'true',
    service: 'shop',
    route: 'POST /signup',
    startUnixNano: String(EPOCH),
    durationNs: 60_000_000,
    status: 'unset',
    outcome: 'success',
    segmentsNs: {
      admission_wait: 5_000_000,
      pool_wait: 10_000_000,
      lock_wait: 15_000_000,
      downstream: 10_000_000,
      unaccounted: 20_000_000,
    },
  });
});

test('orphan and cycle trees have lines too, detached spans have none', async () => {
  const all = await lines([
    { id: 1, start: 0, end: 100 },
    { id: 2, parent: 1, start: 50, end: 9_000_000, kind: 5 },
    { id: 3, parent: 99, start: 10, end: 40 },
    { id: 4, parent: 5, start: 200, end: 230 },
    { id: 5, parent: 4, start: 210, end: 220 },
  ]);
  assert.deepEqual(
    all.map(({ rootSpanId, root, durationNs }) => [rootSpanId, root, durationNs]),
    [
      [spanId(1), 'true', 100],
      [spanId(3), 'orphan', 30],
      [spanId(4), 'cycle', 30],
    ],
  );
});

test('segment names are those of the conventions and sums hold for every tree', async () => {
  const spans = Array.from({ length: 40 }, (_, i) => signup(i + 1, i * 7_000_000, (i * 13) % 29)).flat();
  for (const line of await lines(spans)) {
    const values = Object.entries<number>(line.segmentsNs);
    for (const [name] of values) assert.ok((SEGMENTS as readonly string[]).includes(name), name);
    assert.equal(
      values.reduce((sum, [, ns]) => sum + ns, 0),
      line.durationNs,
    );
  }
});

test('a request of no duration has no segments', async () => {
  const [line] = await lines([{ id: 1, start: 5, end: 5 }]);
  assert.equal(line.durationNs, 0);
  assert.deepEqual(line.segmentsNs, {});
});
