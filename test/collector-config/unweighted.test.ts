import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { reportOf } from './support/report-of.ts';
import { testFolder } from './support/spans-of.ts';
import { exportRequest, makeTraffic, type OtlpSpan } from './support/traffic.ts';

/** A report of 300 requests after `change` was made to each of their spans. */
async function reportAfter(
  t: import('node:test').TestContext,
  change: (span: OtlpSpan, root: boolean) => object,
) {
  const traffic = makeTraffic({
    seed: 8,
    requests: 300,
    startUnixNano: 1_790_000_000_000_000_000n,
    arrivalsPerSecond: 50,
  });
  const changed = traffic.map((request) => ({
    ...request,
    own: request.own.map((span) => ({ ...span, ...change(span, span['parentSpanId'] === '') })),
  }));
  const file = join(testFolder(t), 'traces.jsonl');
  writeFileSync(file, JSON.stringify(exportRequest(changed, 'own')));
  return reportOf(await readInputs([file]));
}

const POLICY = { key: 'tailsampling.policy', value: { stringValue: 'unrecorded' } };
const chosen = (span: OtlpSpan) => ({ attributes: [...(span['attributes'] as object[]), POLICY] });
const findingIds = (report: Awaited<ReturnType<typeof reportAfter>>) =>
  report.verdict.findings.map((finding) => finding.id);

test('traces that a tail sampler chose without a weight are called biased', async (t) => {
  const report = await reportAfter(t, chosen);
  assert.ok(findingIds(report).includes('sampled-without-weights'), findingIds(report).join());
  assert.equal(report.verdict.confidence.level, 'low');
});

test('traces that nobody chose are not', async (t) => {
  assert.ok(!findingIds(await reportAfter(t, () => ({}))).includes('sampled-without-weights'));
});

test('a weight on any span of a chosen trace is its weight', async (t) => {
  const report = await reportAfter(t, (span, root) => ({
    ...chosen(span),
    ...(root ? {} : { traceState: 'ot=th:8' }),
  }));
  assert.ok(!findingIds(report).includes('sampled-without-weights'));
  const received = report.windows.reduce(
    (sum, { receivedPerSecond, startUnixNano, endUnixNano }) =>
      sum + (receivedPerSecond! * Number(BigInt(endUnixNano) - BigInt(startUnixNano))) / 1e9,
    0,
  );
  assert.ok(Math.abs(received / 600 - 1) < 0.01, `${received} requests`);
});
