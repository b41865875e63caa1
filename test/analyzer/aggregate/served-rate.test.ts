import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame } from '../../../analyzer/src/aggregate/queue-model.ts';
import { atLeastServed } from '../../../analyzer/src/aggregate/rate.ts';
import { emptyLane } from '../../../analyzer/src/aggregate/series.ts';

/** Windows of one second with so many completions each. */
function served(saturatesAt: number, completions: number[], visits = 2) {
  const lane = emptyLane(completions.length);
  lane.completions.set(completions);
  const windows = completions.map(() => ({ seconds: 1 }));
  const frame = { rising: completions.map((_, w) => w), timeline: { windows } } as unknown as Frame;
  return atLeastServed(
    { saturatesAt, how: 'capacity / own demand' },
    lane,
    { demandNs: 1, visits, meanHoldNs: 1 },
    frame,
    null,
    { servers: 1, byWindow: null },
  );
}

test('a queue that served 100 requests a second does not saturate at 14', () => {
  const { saturatesAt, how } = served(14, [90, 190, 202, 198]);
  assert.equal(saturatesAt, 0.97 * 100);
  assert.equal(how, 'what it served');
});

test('a rate above what was served stays', () => {
  assert.deepEqual(served(140, [90, 190, 202]), { saturatesAt: 140, how: 'capacity / own demand' });
});
