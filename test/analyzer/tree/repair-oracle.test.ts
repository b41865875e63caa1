import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { startUnixNano } from '../../../analyzer/src/model/span-table.ts';
import { repairTrees } from '../../../analyzer/src/tree/repair.ts';
import { type Forest, STATE } from '../../../analyzer/src/tree/types.ts';
import { anySpans, orderlySpans } from './generate.ts';
import { type NaiveForest, type NaiveSpan, naiveRepair } from './oracle.ts';
import { BASE, type TestSpan, tableOf } from './spans.ts';

const STATE_NAMES = ['tree', 'dropped', 'quarantined', 'hold', 'detached'];

/** What both sides say about every row, in one shape. */
function describeForest(forest: Forest): unknown {
  const rows = Array.from(forest.state, (state, row) => {
    const tree = forest.trees[forest.treeOf[row]];
    const placed = state === STATE.inTree || state === STATE.detached || state === STATE.hold;
    const origin = startUnixNano(forest.table, tree?.root ?? row);
    return {
      state: STATE_NAMES[state],
      parent: placed ? forest.parent[row] : -1,
      root: tree?.root ?? -1,
      start: placed ? origin + BigInt(forest.start[row]) : null,
      end: placed ? origin + BigInt(forest.end[row]) : null,
    };
  });
  const roots = forest.trees.map(({ root, kind, missingParent }) => ({ root, kind, missingParent }));
  const { skew, ...counters } = forest.counters;
  return { rows, roots: roots.sort((a, b) => a.root - b.root), counters, skew };
}

function describeNaive({ spans, counters, moves }: NaiveForest): unknown {
  const rootOf = (span: NaiveSpan): NaiveSpan => (span.parent === null ? span : rootOf(span.parent));
  const rows = spans.map((span) => {
    const placed = span.state === 'tree' || span.state === 'detached' || span.state === 'hold';
    const root = placed ? rootOf(span) : null;
    const origin = (root?.state === 'tree' ? root : span).start;
    return {
      state: span.state,
      parent: placed ? (span.parent?.row ?? -1) : -1,
      root: root === null || root.state !== 'tree' ? -1 : root.row,
      start: placed ? bounded(span.start!, origin!) : null,
      end: placed ? bounded(span.cutEnd, origin!) : null,
    };
  });
  const roots = spans
    .filter((span) => span.state === 'tree' && span.parent === null)
    .map((span) => ({
      root: span.row,
      kind: span.rootKind,
      missingParent: span.rootKind === 'orphan' ? span.missing : '',
    }));
  return { rows, roots, counters, skew: skewTable(moves) };
}

/** Positions further than 2^53 ns from the root of the tree are cut to that bound. */
function bounded(time: bigint, origin: bigint): bigint {
  const limit = BigInt(Number.MAX_SAFE_INTEGER);
  if (time - origin > limit) return origin + limit;
  return time - origin < -limit ? origin - limit : time;
}

function skewTable(moves: NaiveForest['moves']): unknown {
  const keys = [...new Set(moves.map(({ from, to }) => JSON.stringify([from, to])))].sort();
  return keys.map((key) => {
    const [from, to] = JSON.parse(key);
    const offsets = moves.filter((m) => m.from === from && m.to === to).map((m) => Number(m.offset));
    offsets.sort((a, b) => a - b);
    return { from, to, count: offsets.length, medianOffsetNs: offsets[(offsets.length - 1) >> 1] };
  });
}

/** What the generated inputs met, to see that no rule is left out. */
const met = new Map<string, number>();

function check(spans: TestSpan[], tolerance: number, keepClocks: boolean): void {
  const table = tableOf(spans);
  const forest = repairTrees(table, { toleranceNs: tolerance, keepClocks });
  const naive = naiveRepair(spans, table, BigInt(tolerance), keepClocks);
  assert.deepEqual(describeForest(forest), describeNaive(naive));
  const count = (what: string, n: number): Map<string, number> => met.set(what, (met.get(what) ?? 0) + n);
  for (const [what, n] of Object.entries(naive.counters)) count(what, Number(n));
  count('moved', naive.moves.length);
  count('holds', forest.holds.length);
  for (const tree of forest.trees) count(`${tree.kind} root`, 1);
}

test('repair equals a naive restatement of the rules on inputs with every fault', () => {
  met.clear();
  fc.assert(fc.property(anySpans, fc.constantFrom(0, 3), fc.boolean(), check), { numRuns: 3000 });
  assert.equal(met.size, 16);
  for (const [what, n] of met) assert.ok(n > 20, `the inputs met only ${n} of: ${what}`);
});

test('repair equals a naive restatement of the rules on whole trees', () => {
  fc.assert(fc.property(orderlySpans, fc.constantFrom(0, 3), fc.boolean(), check), { numRuns: 1500 });
});

/** What became of every record, by content: identical copies may stand for each other. */
function fates(spans: readonly TestSpan[]): string[] {
  const forest = repairTrees(tableOf(spans), { toleranceNs: 3, keepClocks: false });
  const name = (row: number) => (row < 0 ? '-' : `${spans[row].trace}/${spans[row].id}/${spans[row].kind}`);
  return spans
    .map((span, row) => {
      const root = forest.trees[forest.treeOf[row]]?.root ?? -1;
      const times = `${forest.start[row]} ${forest.end[row]}`;
      const fate = [STATE_NAMES[forest.state[row]], name(forest.parent[row]), name(root), times].join(' ');
      return `${JSON.stringify(span, (_key, v) => (typeof v === 'bigint' ? `${v}n` : v))}: ${fate}`;
    })
    .sort();
}

/** Spans in several eras: clocks at 1970, requests a year apart, subtrees whose process lives in another decade. */
const farSpans = fc
  .tuple(orderlySpans, fc.array(fc.nat(), { minLength: 40, maxLength: 40 }))
  .map(([spans, eras]) => {
    const year = 365n * 86_400n * 1_000_000_000n;
    const shifts = [0n, 0n, 0n, year, -year, -BASE + 5n, 8_999_999n * 1_000_000_000n, 104n * (year / 365n)];
    return spans.map((span, i) => {
      const shift = shifts[eras[i] % shifts.length];
      const stretch = eras[i] % 31 === 0 ? year / 4n : 0n;
      const at = (time: TestSpan['start']) => BASE + BigInt(time as number) + shift;
      return { ...span, start: at(span.start), end: at(span.end) + stretch };
    });
  });

test('repair equals the restatement where clocks are years apart', () => {
  fc.assert(fc.property(farSpans, fc.constantFrom(0, 3), fc.boolean(), check), { numRuns: 1000 });
});

test('the order of the records changes nothing', () => {
  const shuffled = anySpans.chain((spans) =>
    fc.tuple(
      fc.constant(spans),
      fc.shuffledSubarray(spans, { minLength: spans.length, maxLength: spans.length }),
    ),
  );
  fc.assert(
    fc.property(shuffled, ([spans, other]) => assert.deepEqual(fates(other), fates(spans))),
    { numRuns: 500 },
  );
});
