// The right answers for small inputs in hard encodings: spellings, compression, broken lines, other signals; transcribed
// by hand.
// `self` is ns per span name of one tree. `records` is given where it differs from `spans`; `trees` where it is not listed
// is counted by `treeCount`.
import { MS, single } from './single.mjs';

const TRACE = 'abcd00000000000000000000000001e0';

/** Files with the same spans. */
export const ENCODINGS = [
  '24a-proto-length-prefixed.pb',
  '24b-proto-single-message.pb',
  '24c-proto-zstd-per-record.pb.zst',
  '24e-json-zstd-two-frames.jsonl.zst',
  '24f-json-gzip-two-members.jsonl.gz',
  '24g-proto-zstd-native.pb.zst',
  '24i-proto-old-library-field.pb',
  '24j-json-plain.jsonl',
];

/** The data that these files hold, each in its encoding. */
const SAME_IN_EVERY_ENCODING = {
  spans: 4,
  traces: 1,
  trees: [
    {
      kind: 'true',
      ns: 10_000,
      startUnixNano: '1760000000000000003',
      self: { 'GET /pb': 1500, 'slot wait': 3000, call: 2500, 'GET /inner': 3000 },
      segments: { unaccounted: 1500, admission_wait: 3000, network: 2500, downstream: 3000 },
    },
  ],
};

const TEMPO = { spans: 3, traces: 1 };
const TEMPO_TREE = {
  trace: 'abcd000000000000000000000000abe0',
  kind: 'true',
  ns: 800,
  below: { 200: 1, 400: 1 },
};

const CHECKOUT = {
  root: 'checkout',
  ns: 9 * MS,
  self: { checkout: 3 * MS, 'reserve stock': 2 * MS, Reserve: 4 * MS },
};

export const FORMATS = [
  {
    file: '01-times-as-number.json',
    spans: 2,
    traces: 1,
    trees: [
      {
        ns: 1000,
        self: { 'GET /price': 700, 'SELECT price': 300 },
        segments: { unaccounted: 700, downstream: 300 },
      },
    ],
  },
  {
    file: '03-ids-base64.jsonl',
    spans: 6,
    traces: 2,
    trees: [
      { trace: TRACE, kind: 'true', ...CHECKOUT },
      { trace: 'abcd00000000000000000000000002e0', kind: 'true', ...CHECKOUT },
    ],
  },
  {
    file: '05-ids-mixed-case.jsonl',
    spans: 3,
    traces: 1,
    trees: [
      {
        kind: 'true',
        ns: 4000,
        rootSelf: 1500,
        below: { 500: 1, 2000: 1 },
        segments: { unaccounted: 2000, downstream: 2000 },
      },
    ],
  },
  {
    file: '06-snake-case-keys.json',
    spans: 2,
    traces: 1,
    trees: [
      { ns: 700, self: { 'job run': 200, 'lock row': 500 }, segments: { unaccounted: 200, lock_wait: 500 } },
    ],
  },
  {
    file: '07-enum-spellings.json',
    spans: 8,
    traces: 8,
    trees: Array.from({ length: 8 }, (_, i) => single(`op${i}`, 1000 + i)),
    more({ input: { table }, same }) {
      const byName = (column) =>
        Object.fromEntries(Array.from(column, (value, row) => [table.strings.text(table.name[row]), value]));
      same('kinds', byName(table.kind), { op0: 2, op1: 2, op2: 2, op3: 2, op4: 2, op5: 0, op6: 0, op7: 0 });
      same('status', byName(table.status), {
        op0: 2,
        op1: 2,
        op2: 2,
        op3: 2,
        op4: 2,
        op5: 0,
        op6: 0,
        op7: 0,
      });
      same(
        'services',
        [...new Set(Array.from(table.resource, (id) => table.resources[id].service))],
        ['unknown_service'],
      );
    },
  },
  {
    file: '17-truncated-last-line.jsonl',
    spans: 2,
    traces: 2,
    rejected: 1,
    trees: [single('a', 300), single('b', 400)],
  },
  {
    file: '19-bom-crlf-blank.jsonl',
    spans: 3,
    traces: 3,
    trees: [single('a', 300), single('b', 400), single('c', 500)],
  },
  {
    file: '21-array-of-requests.json',
    spans: 3,
    traces: 3,
    skipped: { logs: 1, profiles: 0 },
    trees: [single('a', 300), single('b', 400), single('c', 500)],
  },
  { file: '21b-bare-resource-spans.jsonl', spans: 2, traces: 2, trees: [single('a', 300), single('b', 400)] },
  {
    file: '22-huge-attribute.jsonl',
    spans: 2,
    traces: 1,
    trees: [
      { ns: 2000, rootSelf: 1000, below: { 1000: 1 }, segments: { unaccounted: 1000, downstream: 1000 } },
    ],
  },
  ...ENCODINGS.map((file) => ({ file, ...SAME_IN_EVERY_ENCODING })),
  {
    file: '25-old-and-new-scope-keys.json',
    records: 4,
    spans: 3,
    traces: 1,
    counters: { duplicates: 1 },
    trees: [
      {
        ns: 60,
        self: { 'old root': 12, 'old child': 40, 'new child': 8 },
        segments: { unaccounted: 20, downstream: 40 },
      },
    ],
  },
  {
    file: '27-unicode-and-control.json',
    spans: 13,
    traces: 1,
    trees: [{ ns: 12_000, spans: 13, rootSelf: 6000, below: { 500: 12 } }],
  },
  {
    file: '34-jaeger-microseconds.json',
    spans: 3,
    traces: 1,
    trees: [
      {
        startUnixNano: '1760000000123457000',
        ns: 1_001_000,
        rootSelf: 591_000,
        below: { 77000: 1, 333000: 1 },
      },
    ],
  },
  { file: '35a-tempo-v1-batches.json', ...TEMPO, trees: [{ ...TEMPO_TREE, rootSelf: 200 }] },
  { file: '35c-tempo-batches-scope-hex.json', ...TEMPO, trees: [{ ...TEMPO_TREE, rootSelf: 200 }] },
  {
    file: '40-metrics.json',
    spans: 0,
    traces: 0,
    treeCount: 0,
    metrics: 5,
    dataPoints: 7,
    exit: 1,
    more: metrics,
  },
  { file: '41a-empty-file.json', spans: 0, traces: 0, treeCount: 0, exit: 1, rejected: 'any', more: said },
  { file: '41b-empty-object.json', spans: 0, traces: 0, treeCount: 0, exit: 1, more: said },
  { file: '41c-no-spans.json', spans: 0, traces: 0, treeCount: 0, exit: 1, more: said },
  { file: '41d-only-newlines.jsonl', spans: 0, traces: 0, treeCount: 0, exit: 1, more: said },
  { file: '41e-empty-array.json', spans: 0, traces: 0, treeCount: 0, exit: 1, more: said },
  {
    file: '41f-logs-only.jsonl',
    spans: 0,
    traces: 0,
    treeCount: 0,
    exit: 1,
    skipped: { logs: 1, profiles: 0 },
    more: said,
  },
  { file: '41h-unknown.json', spans: 0, traces: 0, treeCount: 0, exit: 1, rejected: 'any', more: said },
  {
    file: '44-mixed-signals.jsonl',
    spans: 2,
    traces: 2,
    metrics: 5,
    skipped: { logs: 1, profiles: 1 },
    trees: [single('a', 300), single('b', 400)],
  },
];

/** One input spread over several files, or in several formats at once. */
export const TOGETHER = [
  {
    file: '24a to 24j at once',
    files: ENCODINGS,
    ...SAME_IN_EVERY_ENCODING,
    records: 4 * ENCODINGS.length,
    counters: { duplicates: 4 * ENCODINGS.length - 4 },
  },
  {
    file: '35a and 35c together',
    files: ['35a-tempo-v1-batches.json', '35c-tempo-batches-scope-hex.json'],
    ...TEMPO,
    records: 6,
    counters: { duplicates: 3 },
    trees: [{ ...TEMPO_TREE, rootSelf: 200 }],
  },
  {
    file: '43, 44 and 45 together (root comes last)',
    folder: 'cases',
    files: [
      '43-otelgui-late-root-part1.json',
      '44-otelgui-late-root-part2.json',
      '45-otelgui-late-root-part3.json',
    ],
    spans: 9,
    traces: 1,
    treeCount: 1,
    trees: [{ kind: 'true', spans: 9 }],
  },
];

/** The values of the metrics file: integers beyond 2^53 exact, "no recorded value" told from 0. */
function metrics({ input, same }) {
  const points = input.metrics.flatMap((metric) => metric.points);
  const numbers = points.filter(({ kind }) => kind === 'number').map(({ value }) => String(value));
  same('numbers', numbers.sort(), ['7', '8', '9.5', '9007199254740993', 'null'].sort());
  const [histogram] = points.filter(({ kind }) => kind === 'histogram');
  same('histogram', [histogram.count, histogram.sum, histogram.bucketCounts], [4n, 0.5, [1n, 2n, 1n]]);
  const [exponential] = points.filter(({ kind }) => kind === 'exponential');
  same('exponential histogram', [exponential.count, exponential.zeroCount], [3n, 1n]);
}

/** A file that holds no span is named with the reason. */
function said({ input, same }) {
  const reasons = [...input.files.map(({ note }) => note), ...input.rejected.map(({ reason }) => reason)];
  same('a stated reason', reasons.some(Boolean), true);
}
