import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OTHER_ROUTES } from '../../analyzer/src/aggregate/groups.ts';
import { analyze, buildReport, jsonReport, textReport } from '../../analyzer/src/index.ts';
import { attributesRead } from '../../analyzer/src/infer/attributes-read.ts';
import { readBytes } from './read/reading.ts';

const START = 1_750_000_000_000_000_000n;
const id = (n: number, digits: number) => n.toString(16).padStart(digits, '0');

function span(trace: number, own: number, parent: number, start: number, end: number, name: string): object {
  return {
    traceId: id(trace, 32),
    spanId: id(own, 16),
    parentSpanId: parent === 0 ? '' : id(parent, 16),
    name,
    kind: parent === 0 ? 2 : 3,
    startTimeUnixNano: String(START + BigInt(start)),
    endTimeUnixNano: String(START + BigInt(end)),
    attributes: parent === 0 ? [] : [{ key: 'server.address', value: { stringValue: 'db' } }],
  };
}

/** Reads spans as lines of 500, with what a report needs. */
async function reportOf(spans: readonly object[]) {
  const lines: string[] = [];
  for (let from = 0; from < spans.length; from += 500) {
    const part = spans.slice(from, from + 500);
    lines.push(`${JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: part }] }] })}\n`);
  }
  const input = await readBytes(lines.join(''), 1 << 20, { keep: attributesRead(undefined, undefined) });
  return buildReport(analyze(input, { toleranceNs: 1_000_000 }));
}

test('as many names as requests: 500 routes are listed, the rest is one, and nothing is lost', async () => {
  const requests = 20_000;
  const spans = Array.from({ length: requests }, (_, i) =>
    span(i + 1, i + 1, 0, i * 1000, i * 1000 + 1000 + i, `GET /item/${i}`),
  );
  const report = await reportOf(spans);
  assert.equal(report.routes.length, 500);
  assert.equal(
    report.routes.reduce((sum, route) => sum + route.count, 0),
    requests,
  );
  const other = report.routes.find((route) => route.route === OTHER_ROUTES);
  assert.equal(other?.count, requests - 499);
  // The slowest stand by themselves.
  assert.ok(report.routes.some((route) => route.route === `GET /item/${requests - 1}`));
  assert.ok(jsonReport(report).length < 3e6);
  assert.ok(textReport(report, { columns: 80, ascii: false, color: false }).length < 3e5);
});

test('as many names as calls inside a hold', async () => {
  const calls = 20_000;
  const root = span(1, 1, 0, 0, calls * 1000 + 2000, 'root') as { attributes: object[] };
  const wait = span(1, 2, 1, 0, 1000, 'wait_for pg-pool:a') as { attributes: object[] };
  wait.attributes = [
    { key: 'waitfall.segment', value: { stringValue: 'pool_wait' } },
    { key: 'waitfall.resource', value: { stringValue: 'pg-pool:a' } },
    { key: 'waitfall.hold.duration_ns', value: { intValue: String(calls * 1000) } },
  ];
  const spans = [root, wait];
  for (let i = 0; i < calls; i++) {
    spans.push(span(1, i + 3, 1, 1000 + i * 1000, 2000 + i * 1000, `call ${i}`) as never);
  }
  const report = await reportOf(spans);
  assert.equal(report.requests.count, 1);
  const pool = report.resources.find((resource) => resource.resource === 'pg-pool:a');
  assert.ok((pool?.holdComposition.length ?? 0) <= 100);
});

for (const [shape, parentOf] of [
  ['one below the other', (i: number) => i],
  ['side by side', () => 1],
] as const) {
  test(`a trace of 50,000 spans ${shape} is cut up to the nanosecond`, async () => {
    const count = 50_000;
    const spans = Array.from({ length: count }, (_, i) =>
      i === 0
        ? span(1, 1, 0, 0, 4 * count, 'root')
        : span(1, i + 1, parentOf(i), i, shape === 'side by side' ? i + 3 : 4 * count - i, 'child'),
    );
    const report = await reportOf(spans);
    const { requests } = report;
    assert.equal(requests.count, 1);
    const total = requests.segments.reduce((sum, part) => sum + part.totalNs, 0n);
    assert.equal(total, BigInt(4 * count));
  });
}
