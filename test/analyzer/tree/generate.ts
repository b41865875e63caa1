import fc from 'fast-check';
import type { TestSpan } from './spans.ts';

const IDS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'span-x', 'span-y'];

/** Times on a small grid, so that ties, zero lengths and overruns around the tolerance of 3 are frequent. */
const interval = fc
  .tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: -1, max: 20 }), fc.integer({ min: 0, max: 59 }))
  .map(([start, length, odd]): { start: number | bigint | null; end: number | bigint | null } => {
    if (odd === 0) return { start: null, end: start };
    if (odd === 1) return { start, end: null };
    if (odd === 2) return { start: 0n, end: start };
    if (length < 0) return odd < 20 ? { start: start + 1, end: start } : { start, end: start + 3 };
    return { start, end: start + length };
  });

function oftenest<T>(usual: T, rare: readonly T[], weight: number): fc.Arbitrary<T> {
  return fc.oneof(
    { weight, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...rare) },
  );
}

const span: fc.Arbitrary<TestSpan> = fc
  .record({
    id: fc.constantFrom(...IDS),
    parent: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom<string | undefined>(...IDS) },
      { weight: 1, arbitrary: fc.constantFrom<string | undefined>(undefined, 'dead') },
    ),
    interval,
    trace: oftenest('1', ['2'], 12),
    name: oftenest('op', ['other'], 8),
    kind: fc.constantFrom(
      'internal',
      'internal',
      'client',
      'client',
      'server',
      'server',
      'producer',
      'consumer',
    ) as fc.Arbitrary<TestSpan['kind']>,
    service: oftenest('shop', ['stock'], 1),
    instance: oftenest<string | undefined>(undefined, ['i1', 'i2'], 2),
    error: oftenest(false, [true], 6),
    followsFrom: oftenest(false, [true], 9),
    shared: oftenest(false, [true], 6),
    attributes: oftenest<TestSpan['attributes']>(
      {},
      [
        { 'waitfall.segment': 'hold' },
        { 'waitfall.segment': 'hold' },
        { 'waitfall.outcome': 'aborted' },
        { 'waitfall.outcome': 'acquired' },
      ],
      5,
    ),
  })
  .map(({ interval: { start, end }, ...rest }) => ({ ...rest, start, end }));

/** Every fault at once: copies, conflicts, cycles, orphans, broken times, holds, pairs, skew, overruns. */
export const anySpans: fc.Arbitrary<TestSpan[]> = fc
  .tuple(
    fc.array(fc.tuple(span, fc.nat(), fc.integer({ min: 0, max: 9 })), { minLength: 1, maxLength: 14 }),
    fc.array(fc.nat(), { maxLength: 2 }),
  )
  .map(([drawn, again]) => {
    const spans = drawn.map(([one, pick, odd], i) => {
      // Mostly some id that is there, now and then any id, rarely none.
      if (odd > 2) return { ...one, parent: i === 0 ? undefined : drawn[pick % i][0].id };
      return odd === 0 ? { ...one, parent: undefined } : one;
    });
    return [...spans, ...again.map((pick) => spans[pick % spans.length])];
  });

/** One tree or a few, parents before children, unique ids: what is left to chance is time, kind and failure. */
export const orderlySpans: fc.Arbitrary<TestSpan[]> = fc
  .array(fc.tuple(span, fc.nat(), fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 40 })), {
    minLength: 1,
    maxLength: 40,
  })
  .map((drawn) =>
    drawn.map(([one, pick, start, length], i) => ({
      ...one,
      id: (i + 1).toString(16),
      trace: '1',
      parent: i === 0 || pick % 17 === 0 ? undefined : ((pick % i) + 1).toString(16),
      start,
      end: start + (i === 0 ? 50 : length),
    })),
  );
