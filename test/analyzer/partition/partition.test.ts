import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { partition } from '../../../analyzer/src/partition/partition.ts';
import { piecesOf } from '../../../analyzer/src/partition/pieces.ts';
import { repairTrees } from '../../../analyzer/src/tree/repair.ts';
import { anySpans, orderlySpans } from '../tree/generate.ts';
import { type TestSpan, tableOf } from '../tree/spans.ts';
import { naivePartition } from './oracle.ts';

let trees = 0;

function check(spans: TestSpan[], toleranceNs: number): void {
  const forest = repairTrees(tableOf(spans), { toleranceNs, keepClocks: false });
  const { owned, parallel } = partition(forest);
  for (const [i, tree] of forest.trees.entries()) {
    trees++;
    const expected = naivePartition(forest, tree);
    const rows = forest.order.subarray(tree.first, tree.first + tree.count);
    assert.deepEqual(new Map([...rows].map((row) => [row, owned[row]])), expected.owned);
    assert.deepEqual(piecesOf(forest, partition(forest), tree), expected.pieces);
    assert.equal(parallel[i], expected.parallel);
    assert.equal(
      rows.reduce((sum, row) => sum + owned[row], 0),
      forest.end[tree.root],
    );
  }
}

test('the gate form equals the per-instant definition on inputs with every fault', () => {
  trees = 0;
  fc.assert(fc.property(anySpans, fc.constantFrom(0, 3), check), { numRuns: 1500 });
  assert.ok(trees > 1500, `only ${trees} trees`);
});

test('the gate form equals the per-instant definition on whole trees', () => {
  trees = 0;
  fc.assert(fc.property(orderlySpans, fc.constantFrom(0, 3, 100), check), { numRuns: 1500 });
  assert.ok(trees > 1500, `only ${trees} trees`);
});

/** Spans by id with the ns each owns. */
function ownedBy(spans: TestSpan[], toleranceNs = 1_000_000): Record<string, number> {
  const forest = repairTrees(tableOf(spans), { toleranceNs, keepClocks: false });
  const { owned } = partition(forest);
  return Object.fromEntries(spans.map((span, row) => [span.id, owned[row]]));
}

test('neighbours that touch lose nothing to their parent', () => {
  const spans = [
    { id: 'a', start: 1000, end: 1100 },
    { id: 'b', parent: 'a', start: 1000, end: 1050 },
    { id: 'c', parent: 'a', start: 1050, end: 1100 },
  ];
  assert.deepEqual(ownedBy(spans), { a: 0, b: 50, c: 50 });
});

test('of overlapping siblings the one that ends later owns the overlap', () => {
  const spans = [
    { id: 'a', start: 1000, end: 1100 },
    { id: 'b', parent: 'a', start: 1000, end: 1060 },
    { id: 'c', parent: 'a', start: 1050, end: 1100 },
  ];
  assert.deepEqual(ownedBy(spans), { a: 0, b: 50, c: 50 });
});

test('siblings with one interval: the smaller id as text owns it', () => {
  const spans = [
    { id: 'a', start: 0, end: 10 },
    { id: 'c', parent: 'a', start: 2, end: 8 },
    { id: 'b', parent: 'a', start: 2, end: 8 },
  ];
  assert.deepEqual(ownedBy(spans), { a: 4, b: 6, c: 0 });
});

test('a trace that starts at time 0 is a trace like any other', () => {
  const spans = [
    { id: 'a', start: 0n, end: 100n },
    { id: 'b', parent: 'a', start: 0n, end: 40n },
    { id: 'c', parent: 'a', start: 60n, end: 100n },
  ];
  assert.deepEqual(ownedBy(spans), { a: 20, b: 40, c: 40 });
});

test('zero lengths own nothing and hide nobody', () => {
  const spans = [
    { id: 'a', start: 0, end: 100 },
    { id: 'b', parent: 'a', start: 0, end: 60 },
    { id: 'c', parent: 'a', start: 60, end: 60 },
    { id: 'd', parent: 'a', start: 30, end: 30 },
    { id: 'e', parent: 'a', start: 100, end: 100 },
  ];
  assert.deepEqual(ownedBy(spans), { a: 40, b: 60, c: 0, d: 0, e: 0 });
  assert.deepEqual(ownedBy([{ id: 'a', start: 5, end: 5 }]), { a: 0 });
});

test('parallel children: the parent keeps only what none of them covers', () => {
  const children = ['b', 'c', 'd', 'e', 'f'].map((id) => ({ id, parent: 'a', start: 2, end: 8 }));
  assert.deepEqual(ownedBy([{ id: 'a', start: 0, end: 10 }, ...children]), {
    a: 4,
    b: 6,
    c: 0,
    d: 0,
    e: 0,
    f: 0,
  });
});

test('a grandchild is ranked by its parent, level by level', () => {
  const spans = [
    { id: 'a', start: 0, end: 100 },
    { id: 'b', parent: 'a', start: 0, end: 50 },
    { id: 'b1', parent: 'b', start: 0, end: 10 },
    { id: 'c', parent: 'a', start: 0, end: 40 },
    { id: 'c1', parent: 'c', start: 5, end: 40 },
  ];
  assert.deepEqual(ownedBy(spans), { a: 50, b: 40, b1: 10, c: 0, c1: 0 });
});

test('children are clipped to the interval of their parent, not to the part it owns', () => {
  const spans = [
    { id: 'a', start: 0, end: 100 },
    { id: 'b', parent: 'a', start: 0, end: 60 },
    { id: 'b1', parent: 'b', start: 0, end: 60 },
    { id: 'b2', parent: 'b', start: 10, end: 50 },
    { id: 'c', parent: 'a', start: 30, end: 90 },
  ];
  // b1 reaches b's end and outranks b2, although b's gate is cut at 30.
  assert.deepEqual(ownedBy(spans), { a: 10, b: 0, b1: 30, b2: 0, c: 60 });
});

test('Promise.all of two, then a third: the rule decides and the overlap is shown', () => {
  const spans = [
    { id: 'a', start: 0, end: 100 },
    { id: 'x', parent: 'a', start: 0, end: 50 },
    { id: 'y', parent: 'a', start: 0, end: 30 },
    { id: 'z', parent: 'a', start: 50, end: 100 },
  ];
  assert.deepEqual(ownedBy(spans), { a: 0, x: 50, y: 0, z: 50 });
  const forest = repairTrees(tableOf(spans));
  assert.deepEqual([...partition(forest).parallel], [30]);
});

test('overlaps at several levels count once in the parallel share', () => {
  const spans = [
    { id: 'a', start: 0, end: 100 },
    { id: 'b', parent: 'a', start: 0, end: 60 },
    { id: 'c', parent: 'a', start: 40, end: 80 },
    { id: 'b1', parent: 'b', start: 30, end: 50 },
    { id: 'b2', parent: 'b', start: 35, end: 60 },
  ];
  assert.deepEqual([...partition(repairTrees(tableOf(spans))).parallel], [25]);
});

test('100,000 children of one span, and a chain of 20,000', () => {
  const wide = Array.from({ length: 100_000 }, (_, i) => ({
    id: (i + 1).toString(16),
    parent: i === 0 ? undefined : '1',
    start: i === 0 ? 0 : i * 20,
    end: i === 0 ? 2_000_000 : i * 20 + 10,
  }));
  const inWide = ownedBy(wide);
  assert.equal(inWide['1'], 2_000_000 - 99_999 * 10);
  assert.equal(inWide['2'], 10);
  const depth = 20_000;
  const deep = Array.from({ length: depth }, (_, i) => ({
    id: (i + 1).toString(16),
    parent: i === 0 ? undefined : i.toString(16),
    start: i,
    end: 2 * depth - i,
  })).reverse();
  assert.ok(Object.values(ownedBy(deep)).every((ns) => ns === 2));
});
