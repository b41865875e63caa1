import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { jsonReport, toJson } from '../../../analyzer/src/report/json.ts';
import { analyzeText } from './analyze-text.ts';
import { otlp, signup } from './otlp.ts';

test('sums beyond 2^53 are integer literals, epoch times are text, what is not finite is null', () => {
  assert.equal(
    toJson({
      totalNs: 2n ** 60n,
      startUnixNano: 1_760_000_000_000_000_003n,
      meanNs: 1.6,
      share: 0.25,
      x: Number.NaN,
    }),
    '{"totalNs":1152921504606846976,"startUnixNano":"1760000000000000003","meanNs":2,"share":0.25,"x":null}',
  );
});

/** The first line that differs, so that a failure does not print two whole reports. */
function firstDifference(a: string, b: string): { line: number; a: string; b: string } | null {
  const x = a.split('\n');
  const y = b.split('\n');
  const line = x.findIndex((text, i) => text !== y[i]);
  return line < 0 && x.length === y.length ? null : { line, a: x[line], b: y[line] };
}

test('the order of files and of spans changes nothing but the list of files', async () => {
  const requests = Array.from({ length: 30 }, (_, i) => signup(i + 1, (i % 10) * 9_000_000, (i * 7) % 11));
  const a = otlp(requests.slice(0, 14).flat());
  const b = otlp(requests.slice(14).flat());
  const scattered = otlp(requests.flat().reverse().slice(3));
  const rest = otlp(requests.flat().reverse().slice(0, 3));
  const orders: Record<string, string>[] = [
    { 'a.json': a, 'b.json': b },
    { 'b.json': b, 'a.json': a },
    { 'c.json': scattered, 'd.json': rest },
  ];
  const reports: string[] = [];
  for (const files of orders) {
    const report = buildReport(await analyzeText(files), { by: 'http.route' });
    reports.push(jsonReport({ ...report, input: { ...report.input, files: [], rejected: [] } }));
  }
  for (const other of reports.slice(1)) assert.deepEqual(firstDifference(reports[0], other), null);
});

test('parts of every group add up: shares to 1, means to the mean', async () => {
  const spans = Array.from({ length: 120 }, (_, i) => signup(i + 1, i * 9_000_000, (i * 7) % 31)).flat();
  const report = buildReport(await analyzeText({ 'a.json': otlp(spans) }));
  for (const group of [report.requests, ...report.routes]) {
    const shares = group.segments.reduce((sum, row) => sum + row.share, 0);
    assert.ok(Math.abs(shares - 1) < 1e-12);
    assert.equal(
      group.segments.reduce((sum, row) => sum + row.meanNs, 0),
      group.latencyNs.mean,
    );
    assert.deepEqual(
      group.cohorts.map((cohort) => cohort.name),
      ['median', 'p99', 'slowest1%'],
    );
    for (const cohort of group.cohorts) {
      assert.equal(
        cohort.segments.reduce((sum, row) => sum + row.meanNs, 0),
        cohort.meanNs,
      );
    }
  }
  assert.deepEqual(
    report.requests.cohorts.map((cohort) => cohort.count),
    [13, 2, 2],
  );
});
