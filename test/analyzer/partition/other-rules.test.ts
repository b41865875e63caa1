import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { partition } from '../../../analyzer/src/partition/partition.ts';
import { repairTrees } from '../../../analyzer/src/tree/repair.ts';
import { tableOf } from '../tree/spans.ts';
import { activeLeaf, lastFinishingChild, type Span } from './other-rules.ts';

function waitfall(spans: readonly Span[]): Record<string, number> {
  const table = tableOf(spans.map(({ parent, ...span }) => ({ ...span, parent: parent ?? undefined })));
  const { owned } = partition(repairTrees(table, { toleranceNs: 0, keepClocks: false }));
  return Object.fromEntries(spans.map(({ id }, row) => [id, owned[row]]));
}

function span(id: string, parent: string | null, start: number, end: number): Span {
  return { id, parent, start, end };
}

/** ns given away in total: a partition gives exactly the root's duration. */
function total(owned: Record<string, number>): number {
  return Object.values(owned).reduce((a, b) => a + b, 0);
}

test('serial calls that touch: last finishing child gives the first to the parent', () => {
  const spans = [span('a', null, 0, 100), span('b', 'a', 0, 50), span('c', 'a', 50, 100)];
  assert.deepEqual(waitfall(spans), { a: 0, b: 50, c: 50 });
  assert.deepEqual(activeLeaf(spans), { a: 0, b: 50, c: 50 });
  assert.deepEqual(lastFinishingChild(spans), { a: 50, b: 0, c: 50 });
});

test('overlapping calls: last finishing child loses the earlier one whole', () => {
  const spans = [span('a', null, 0, 100), span('b', 'a', 0, 60), span('c', 'a', 50, 100)];
  assert.deepEqual(waitfall(spans), { a: 0, b: 50, c: 50 });
  assert.deepEqual(activeLeaf(spans), { a: 0, b: 50, c: 50 });
  assert.deepEqual(lastFinishingChild(spans), { a: 50, b: 0, c: 50 });
});

test('fire and forget: the other rules give a call nobody awaited the time of the one that was', () => {
  const spans = [span('a', null, 0, 100), span('b', 'a', 10, 200), span('c', 'a', 10, 90)];
  assert.deepEqual(waitfall(spans), { a: 20, b: 0, c: 80 });
  assert.deepEqual(activeLeaf(spans), { a: 10, b: 90, c: 0 });
  assert.deepEqual(lastFinishingChild(spans), { a: 10, b: 90, c: 0 });
});

test('parallel branches with a gap: active leaf jumps between branches, ours stays in the one that ends last', () => {
  const spans = [
    span('a', null, 0, 100),
    span('b', 'a', 0, 50),
    span('b1', 'b', 0, 10),
    span('c', 'a', 0, 40),
    span('c1', 'c', 5, 40),
  ];
  assert.deepEqual(waitfall(spans), { a: 50, b: 40, b1: 10, c: 0, c1: 0 });
  assert.deepEqual(activeLeaf(spans), { a: 50, b: 40, b1: 0, c: 5, c1: 5 });
  assert.deepEqual(lastFinishingChild(spans), { a: 50, b: 40, b1: 10, c: 0, c1: 0 });
});

test('two parallel calls, then a third: last finishing child needs a gap before the third', () => {
  const touching = [
    span('a', null, 0, 100),
    span('x', 'a', 0, 50),
    span('y', 'a', 0, 30),
    span('z', 'a', 50, 100),
  ];
  assert.deepEqual(waitfall(touching), { a: 0, x: 50, y: 0, z: 50 });
  assert.deepEqual(activeLeaf(touching), { a: 0, x: 50, y: 0, z: 50 });
  // Not x, which finished last, but y: x ends where z starts.
  assert.deepEqual(lastFinishingChild(touching), { a: 20, x: 0, y: 30, z: 50 });
});

/** Trees whose siblings neither overlap nor touch, each inside its parent: nobody can disagree about those. */
const serial: fc.Arbitrary<Span[]> = fc
  .array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 5 })), {
    maxLength: 25,
  })
  .map((drawn) => {
    const root = { id: 's0', parent: null as string | null, start: 0, end: 1 << 20, next: 1 };
    const spans = [root];
    for (const [pick, lead, cut] of drawn) {
      const parent = spans[pick % spans.length];
      const start = parent.next + lead;
      const end = start + Math.floor((parent.end - start) / (cut + 2));
      if (end <= start) continue;
      parent.next = end + 1;
      spans.push({ id: `s${spans.length}`, parent: parent.id, start, end, next: start });
    }
    return spans.map(({ next: _, ...rest }) => rest);
  });

test('on traces without parallel or touching calls all three rules agree', () => {
  fc.assert(
    fc.property(serial, (spans) => {
      const ours = waitfall(spans);
      assert.deepEqual(activeLeaf(spans), ours);
      assert.deepEqual(lastFinishingChild(spans), ours);
    }),
    { numRuns: 500 },
  );
});

/** Any children inside the root: how the rules differ is counted, not judged. */
const parallel: fc.Arbitrary<Span[]> = fc
  .array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 90 }), fc.integer({ min: 1, max: 60 })), {
    maxLength: 12,
  })
  .map((drawn) => {
    const spans = [span('s0', null, 0, 100)];
    for (const [pick, start, length] of drawn) {
      const parent = spans[pick % spans.length];
      const from = Math.min(parent.start + start, parent.end - 1);
      const to = Math.min(from + length, parent.end);
      spans.push(span(`s${spans.length}`, parent.id, from, to));
    }
    return spans;
  });

test('with parallel calls every rule still gives away the whole root; they differ in to whom', () => {
  let differs = 0;
  fc.assert(
    fc.property(parallel, (spans) => {
      const rules = [waitfall(spans), activeLeaf(spans), lastFinishingChild(spans)];
      for (const owned of rules) assert.equal(total(owned), 100);
      if (JSON.stringify(rules[0]) !== JSON.stringify(rules[1])) differs++;
    }),
    { numRuns: 500 },
  );
  assert.ok(differs > 20, `only ${differs} of 500 differ: the comparison has lost its inputs`);
});
