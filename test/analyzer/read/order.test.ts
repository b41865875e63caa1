import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { analyze, buildReport, jsonReport, readInputs } from '../../../analyzer/src/index.ts';
import { attributesRead } from '../../../analyzer/src/infer/attributes-read.ts';
import { encodeProto, lengthPrefixed, varintDelimited } from './proto-oracle.ts';
import { seeded } from './reading.ts';

type Random = () => number;
type Span = Record<string, unknown>;

const START = 1_750_000_000_000_000_000n;
const STATEMENTS = [
  'SELECT * FROM campaigns WHERE id = $1',
  'UPDATE campaigns SET taken = taken + 1 WHERE id = $1',
  'INSERT INTO signups (id) VALUES ($1)',
];

const hex = (random: Random, digits: number) =>
  Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const int = (key: string, value: number) => ({ key, value: { intValue: String(Math.round(value)) } });

/** Requests of a service with every kind of wait, sampled by weights, some of whose spans outlive their parents. */
function requests(seed: number, count: number): { instance: string; spans: Span[] }[] {
  const random = seeded(seed);
  let clock = 0;
  return Array.from({ length: count }, () => {
    clock += random() * 4e6;
    const traceId = hex(random, 32);
    const root = hex(random, 16);
    let at = clock;
    const spans: Span[] = [];
    const add = (name: string, kind: number, ns: number, attributes: object[], more: Span = {}) => {
      const start = at;
      at += Math.round(ns);
      spans.push({
        traceId,
        spanId: hex(random, 16),
        parentSpanId: root,
        name,
        kind,
        startTimeUnixNano: String(START + BigInt(Math.round(start))),
        endTimeUnixNano: String(START + BigInt(Math.round(at))),
        attributes,
        ...more,
      });
    };
    const wait = (segment: string, resource: string, more: object[] = []) =>
      add(`wait_for ${resource}`, 1, random() * 2e6, [
        text('waitfall.segment', segment),
        text('waitfall.resource', resource),
        int('waitfall.resource.capacity', 4),
        int('waitfall.resource.in_use', random() * 5),
        int('waitfall.hold.duration_ns', random() * 9e6),
        ...more,
      ]);
    wait('admission_wait', 'http.server');
    wait('pool_wait', 'pg-pool:a');
    if (random() < 0.5) wait('lock_wait', 'lock:campaigns', [text('waitfall.lock.key', hex(random, 1))]);
    for (let i = 0; i < 3; i++) {
      const statement = STATEMENTS[Math.floor(random() * 3)];
      const attributes = [
        text('db.system.name', 'postgresql'),
        text('db.query.text', statement),
        text('server.address', 'db'),
        int('server.port', 5432),
        text('app.request_id', hex(random, 8)),
      ];
      add(`query ${i}`, 3, random() * 3e6, attributes);
    }
    add('work', 1, random() * 1e6, [text('waitfall.segment', 'work')]);
    const end = at;
    if (random() < 0.2) add('late', 3, 5e6, [text('server.address', 'audit')]);
    const times = {
      startTimeUnixNano: String(START + BigInt(Math.round(clock))),
      endTimeUnixNano: String(START + BigInt(Math.round(end))),
    };
    const traceState = random() < 0.5 ? 'ot=th:c' : random() < 0.5 ? 'ot=th:a8' : '';
    const attributes = [
      text('http.route', `/${Math.floor(random() * 3)}`),
      text('http.request.method', 'GET'),
    ];
    const status = random() < 0.1 ? { code: 2, message: 'no' } : {};
    spans.push({ traceId, spanId: root, name: 'GET', kind: 2, ...times, traceState, attributes, status });
    if (random() < 0.1) spans.push({ ...spans[0] });
    return { instance: `p${Math.floor(random() * 2)}`, spans };
  });
}

/** One export request each of some spans. */
function batches(list: readonly { instance: string; spans: Span[] }[]): object[] {
  return list.map(({ instance, spans }) => ({
    resourceSpans: [
      {
        resource: { attributes: [text('service.name', 'shop'), text('service.instance.id', instance)] },
        scopeSpans: [{ scope: { name: 'test' }, spans }],
      },
    ],
  }));
}

const jsonLines = (list: readonly object[]) =>
  Buffer.from(list.map((one) => `${JSON.stringify(one)}\n`).join(''));
const proto = (list: readonly object[]) =>
  Buffer.concat(list.map((one) => lengthPrefixed(encodeProto('TracesData', one))));

function shuffled<T>(list: readonly T[], random: Random): T[] {
  const out = [...list];
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [out[i], out[j]] = [out[j], out[i]];
  }
  return out;
}

test('the same spans give the same report to the byte in any order, format, compression and split into files', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'waitfall-order-'));
  try {
    for (const seed of [1, 2, 3]) {
      const random = seeded(seed + 100);
      const list = requests(seed, 150);
      const all = batches(list);
      // The spans of a trace spread over batches, as several processes export them.
      const spread = shuffled(
        batches(list.flatMap(({ instance, spans }) => spans.map((span) => ({ instance, spans: [span] })))),
        random,
      );
      const third = Math.ceil(spread.length / 3);
      const thirds = [0, 1, 2].map((i) => spread.slice(i * third, (i + 1) * third));
      const inputs: Record<string, Buffer[]> = {
        'as exported': [jsonLines(all)],
        shuffled: [jsonLines(shuffled(all, random))],
        'span by span': [jsonLines(spread)],
        'three files': thirds.map(jsonLines),
        'three files, the last first': thirds.toReversed().map(jsonLines),
        'three formats': [
          jsonLines(thirds[0]),
          proto(thirds[1]),
          Buffer.from(JSON.stringify(thirds[2], null, 1)),
        ],
        protobuf: [proto(all)],
        'varint-delimited': [
          Buffer.concat(all.map((one) => varintDelimited(encodeProto('TracesData', one)))),
        ],
        gzip: [gzipSync(jsonLines(all))],
        'zstd of protobuf': [zstdCompressSync(proto(spread))],
      };
      let expected: string | undefined;
      for (const [what, files] of Object.entries(inputs)) {
        const paths = files.map((content, i) => {
          const path = join(directory, `${seed}-${what.replaceAll(' ', '-')}-${i}`);
          writeFileSync(path, content);
          return path;
        });
        for (const options of [
          {},
          { parser: 'slow' as const },
          { keep: attributesRead(undefined, undefined) },
        ]) {
          const input = await readInputs(paths, options);
          const report = JSON.parse(jsonReport(buildReport(analyze(input, { toleranceNs: 1_000_000 }))));
          const json = JSON.stringify({ ...report, input: { ...report.input, files: [] } }, null, 1);
          expected ??= json;
          if (json !== expected)
            assert.equal(json, expected, `seed ${seed}, ${what}, ${JSON.stringify(options)}`);
        }
      }
      assert.match(expected ?? '', /"duplicates": [1-9]/);
      assert.match(expected ?? '', /"detached": [1-9]/);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
