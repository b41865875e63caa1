// The right answers for small inputs with hard trees: skew, holds, copies, orphans, links; transcribed by hand.
// `self` is ns per span name of one tree. `records` is given where it differs from `spans`; `trees` where it is not listed
// is counted by `treeCount`.
import { MS, single } from './single.mjs';

const ZIPKIN_TREE = {
  root: 'get /home',
  kind: 'true',
  ns: 50 * MS,
  spans: 4,
  self: { 'get /home': 20 * MS, get: 10 * MS, 'get /api': 8 * MS, select: 12 * MS },
  // The server's own time is that of another service; `select` is a call.
  segments: { unaccounted: 20 * MS, network: 10 * MS, downstream: 20 * MS },
};

export const TREES = [
  {
    file: '09-missing-parent.json',
    spans: 3,
    traces: 1,
    trees: [
      {
        root: 'GET /cart',
        kind: 'orphan',
        missing: 'b7ad6b7100000999',
        ns: 8000,
        rootSelf: 4000,
        below: { 1000: 1, 3000: 1 },
        segments: { downstream: 3000, unaccounted: 5000 },
      },
    ],
  },
  {
    file: '10-several-roots.json',
    spans: 4,
    traces: 1,
    trees: [
      { root: 'page load', kind: 'true', ns: 100, self: { 'page load': 100 } },
      { root: 'GET /api', kind: 'true', ns: 200, self: { 'GET /api': 100, db: 100 } },
      { root: 'late audit', kind: 'orphan', ns: 30, self: { 'late audit': 30 } },
    ],
  },
  {
    file: '11-zero-duration.json',
    spans: 5,
    traces: 2,
    trees: [
      { trace: 'abcd0000000000000000000000000be0', ns: 0, spans: 1, segments: {} },
      {
        trace: 'abcd0000000000000000000000000ce0',
        ns: 100,
        spans: 4,
        rootSelf: 100,
        below: { 0: 3 },
        self: { 'GET /z': 100, flag: 0, 'flag child': 0, 'at the end': 0 },
      },
    ],
  },
  {
    file: '13-clock-skew.json',
    spans: 5,
    traces: 2,
    skew: [
      { from: 'web', to: 'price', count: 1, medianOffsetNs: -20 * MS },
      { from: 'web', to: 'stock', count: 1, medianOffsetNs: 40 * MS },
    ],
    trees: [
      { root: 'call stock', ns: 100 * MS, rootSelf: 20 * MS, below: { [20 * MS]: 1, [60 * MS]: 1 } },
      { root: 'call price', ns: 100 * MS, rootSelf: 20 * MS, below: { [80 * MS]: 1 } },
    ],
  },
  {
    file: '13-clock-skew.json',
    options: { keepClocks: true },
    spans: 5,
    traces: 2,
    counters: { abandoned: 1, abandonedNs: BigInt(20 * MS) },
    trees: [
      { root: 'call stock', ns: 100 * MS, rootSelf: 60 * MS, below: { [10 * MS]: 1, [30 * MS]: 1 } },
      { root: 'call price', ns: 100 * MS, rootSelf: 40 * MS, below: { [60 * MS]: 1 } },
    ],
  },
  { file: '14-zipkin-shared-span-id.json', spans: 4, traces: 1, trees: [ZIPKIN_TREE] },
  {
    file: '14b-zipkin-list-of-traces.json',
    spans: 5,
    traces: 2,
    trees: [
      ZIPKIN_TREE,
      { trace: '00000000000000005af7183fb1d4cf60', ns: 50 * MS, spans: 1, rootSelf: 50 * MS },
    ],
  },
  {
    file: '16-duplicate-after-retry.jsonl',
    records: 8,
    spans: 3,
    traces: 1,
    counters: { duplicates: 4, conflicts: 1 },
    trees: [
      {
        ns: 1000,
        rootSelf: 150,
        below: { 300: 1, 550: 1 },
        segments: { unaccounted: 150, pool_wait: 300, downstream: 550 },
      },
    ],
  },
  {
    file: '26-scattered-batches.jsonl',
    spans: 17,
    traces: 6,
    treeCount: 6,
    trees: [{ root: 'root', ns: 1200, spans: 12, rootSelf: 210, below: { 90: 11 } }],
    more({ forest, same }) {
      same(
        'durations',
        forest.trees.map(({ root }) => forest.end[root]).sort((a, b) => a - b),
        [10, 10, 10, 10, 10, 1200],
      );
    },
  },
  {
    file: '29-wide-100k.jsonl.gz',
    spans: 100_000,
    traces: 1,
    trees: [{ ns: 2 * MS, spans: 100_000, rootSelf: 1_000_010, below: { 10: 99_999 } }],
  },
  {
    file: '30-deep-10k.jsonl.gz',
    spans: 10_001,
    traces: 1,
    trees: [{ ns: 20_002, spans: 10_001, rootSelf: 2, below: { 2: 10_000 } }],
  },
  {
    file: '31-consumer-days-later.json',
    spans: 5,
    traces: 1,
    counters: { detached: 2 },
    trees: [{ root: 'POST /signup', ns: 40 * MS, spans: 2, rootSelf: 38 * MS, below: { [2 * MS]: 1 } }],
  },
  {
    file: '32-jaeger-references.json',
    spans: 6,
    traces: 1,
    // The audit that only follows ends 0.75 ms after the root: within the tolerance, so clamped (to nothing).
    counters: { clamped: 1 },
    trees: [
      {
        root: 'dag run',
        kind: 'true',
        ns: MS,
        self: {
          'dag run': 400_000,
          'task 1': 300_000,
          'task 2 follows task 1': 100_000,
          db: 100_000,
          'link first': 100_000,
          'audit, follows only': 0,
        },
      },
    ],
    more({ input: { table }, same }) {
      same('services', [...new Set(Array.from(table.resource, (id) => table.resources[id].service))].sort(), [
        'scheduler',
        'worker',
      ]);
    },
  },
  {
    file: '36-back-to-back.json',
    spans: 4,
    traces: 1,
    trees: [{ ns: 200, self: { P: 0, first: 50, second: 50, third: 100 } }],
  },
  {
    file: '38-child-larger-than-parent.json',
    spans: 4,
    traces: 1,
    counters: { clamped: 1 },
    trees: [{ ns: 100, self: { parent: 0, 'covers parent': 80, 'ends together': 20, 'starts early': 0 } }],
  },
  {
    file: '38-child-larger-than-parent.json',
    options: { toleranceNs: 0 },
    spans: 4,
    traces: 1,
    counters: { detached: 1 },
    trees: [{ ns: 100, self: { parent: 30, 'ends together': 20, 'starts early': 50 } }],
  },
  {
    file: '39-waits-and-holds.json',
    spans: 8,
    traces: 1,
    trees: [
      {
        ns: 100 * MS,
        spans: 6,
        segments: {
          admission_wait: 20 * MS,
          pool_wait: 20 * MS,
          downstream: 4 * MS,
          lock_wait: 26 * MS,
          runtime_pause: 5 * MS,
          unaccounted: 25 * MS,
        },
      },
    ],
    more({ forest, same }) {
      same('holds', forest.holds.length, 2);
    },
  },
  {
    file: '39b-child-of-a-hold.json',
    spans: 3,
    traces: 1,
    trees: [
      { ns: 100, spans: 2, rootSelf: 60, below: { 40: 1 }, segments: { unaccounted: 60, downstream: 40 } },
    ],
  },
  {
    file: '42-root-spellings.json',
    spans: 4,
    traces: 4,
    trees: Array.from({ length: 4 }, (_, i) => single(`root spelling ${i}`, 100 + i)),
  },
];
