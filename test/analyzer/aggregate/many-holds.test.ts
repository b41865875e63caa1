import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { Export } from '../infer/service.ts';

/** One request that locks so many rows, 1 ms apart, each after 0.2 ms of waiting, and holds them all to its end. */
function lockMany(rows: number) {
  const out = new Export();
  const endMs = rows + 5;
  const request = out.request(0, endMs);
  for (let i = 0; i < rows; i++) {
    request.wait('lock_wait', 'lock:item', i, i + 0.2, {
      capacity: 1,
      key: `k${i}`,
      heldMs: endMs - i - 0.2,
    });
    request.wait('eventloop_wait', 'eventloop', i + 0.5, i + 0.9);
  }
  for (let i = 1; i < 40; i++) out.request(endMs + i, endMs + i + 0.1);
  const { models } = analyze(out.input());
  const { series } = models.find(({ name }) => name === 'lock:item')!;
  const loop = models.find(({ name }) => name === 'eventloop')!.queue.index;
  const ms = (sums: Float64Array | undefined) =>
    (sums ?? new Float64Array()).reduce((a, b) => a + b, 0) / 1e6;
  return { nestedMs: ms(series.nestedNs.get(loop)), contents: series.contents };
}

for (const rows of [60, 70, 300]) {
  test(`rule 4: each of ${rows} nested holds contains every wait after it began`, () => {
    const { nestedMs } = lockMany(rows);
    // The i-th lock is held through the waits i to the last: 0.4 ms each.
    assert.ok(Math.abs(nestedMs - (0.4 * rows * (rows + 1)) / 2) < 0.01, `${nestedMs}`);
  });
}
