import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ARRIVAL_PATTERNS, arrivalOffsets } from '../../sample-app/src/load/arrivals.ts';
import { seededRandom } from '../../sample-app/src/load/random.ts';

function perSecond(offsets: readonly number[]): number[] {
  const counts: number[] = [];
  for (const offset of offsets) counts[Math.floor(offset)] = (counts[Math.floor(offset)] ?? 0) + 1;
  return counts;
}

test('random arrivals: exactly the rate in each second, at other positions than even ones', () => {
  const offsets = arrivalOffsets('random', 50, 6, seededRandom(11));
  assert.deepEqual(perSecond(offsets), [50, 50, 50, 50, 50, 50]);
  const gaps = offsets.slice(1).map((offset, index) => offset - offsets[index]!);
  assert.ok(Math.max(...gaps) > 3 / 50, 'some gap is much longer than the mean');
});

test('a fractional rate is right over the whole step', () => {
  assert.deepEqual(perSecond(arrivalOffsets('random', 2.5, 4, seededRandom(1))), [3, 2, 3, 2]);
  assert.equal(arrivalOffsets('random', 7, 2.5, seededRandom(1)).length, 18);
});

test('even arrivals keep one distance', () => {
  assert.deepEqual(arrivalOffsets('even', 4, 1, seededRandom(1)), [0, 0.25, 0.5, 0.75]);
});

test('Poisson arrivals: the mean count is the rate, the variance of the counts is near it', () => {
  const counts = perSecond(arrivalOffsets('poisson', 100, 400, seededRandom(3)));
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / counts.length;
  assert.ok(Math.abs(mean - 100) < 3, `mean ${mean}`);
  assert.ok(variance > 70 && variance < 130, `variance ${variance}`);
});

for (const pattern of ARRIVAL_PATTERNS) {
  test(`${pattern}: ascending, inside the step, the same for the same seed only`, () => {
    const make = (seed: number) => arrivalOffsets(pattern, 37, 3.3, seededRandom(seed));
    const offsets = make(5);
    assert.deepEqual(offsets, make(5));
    if (pattern !== 'even') assert.notDeepEqual(offsets, make(6));
    assert.ok(offsets.every((offset) => offset >= 0 && offset < 3.3));
    assert.deepEqual(
      offsets,
      [...offsets].sort((a, b) => a - b),
    );
  });
}
