import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pack } from '../../../analyzer/src/tui/draw/text.ts';
import { commonSteps, comparedFacts } from '../../../analyzer/src/tui/model/compare.ts';
import { progressText } from '../../../analyzer/src/tui/model/progress.ts';
import { DETACHED_SECTION, isSection, visibleRows } from '../../../analyzer/src/tui/model/rows.ts';
import { shortId } from '../../../analyzer/src/tui/model/short-id.ts';
import { estimateText, traceParts } from '../../../analyzer/src/tui/model/trace.ts';
import { sortedBy } from '../../../analyzer/src/tui/model/traces.ts';
import { notTheCause, stepsAroundKnee, verdictSentence } from '../../../analyzer/src/tui/model/verdict.ts';
import type { Session, TraceDetail, TraceRow } from '../../../analyzer/src/tui/session.ts';
import { hotRowInput, sessionOf } from './support.ts';

const session = sessionOf(hotRowInput());

function withVerdict(set: Partial<Session['report']['verdict']>): Session {
  return { ...session, report: { ...session.report, verdict: { ...session.report.verdict, ...set } } };
}

test('near ties are both named, and the sentence gets shorter without losing the first queue', () => {
  const tied = withVerdict({ acceptable: ['lock:campaign', 'eventloop'] });
  const [long, ...shorter] = verdictSentence(tied);
  assert.match(long, /^lock:campaign and eventloop fill first, at about/);
  for (const text of shorter) assert.match(text, /^lock:campaign/);
  const lengths = verdictSentence(tied).map((text) => text.length);
  assert.deepEqual(
    lengths,
    [...lengths].sort((a, b) => b - a),
  );
});

test('the knee lies between the steps that are named', () => {
  const { below, above } = stepsAroundKnee(session);
  const knee = session.report.verdict.kneePerSecond!;
  assert.ok(below!.receivedPerSecond <= knee && knee < above!.receivedPerSecond);
});

test('what was ruled out begins with the suspect people come with', () => {
  const resource = (name: string, limit: number) => ({
    id: 'ruled-out',
    resource: name,
    text: `${name}: …`,
    values: { saturatesAtPerSecond: limit, utilization: 0.2 },
  });
  const out = notTheCause(
    withVerdict({ ruledOut: [resource('http.server', 900), resource('eventloop', 400)], chain: [] }),
  );
  assert.equal(out[0].long, 'event loop (CPU) lasts to 400/s, 20 % used');
});

const row = (set: Partial<TraceRow>): TraceRow => ({
  row: 0,
  spanId: '',
  name: 'query',
  service: 's',
  depth: 1,
  parent: 0,
  startNs: 0,
  endNs: 1,
  ownedNs: 1,
  owned: [],
  segment: 'downstream',
  resource: null,
  error: false,
  detached: false,
  estimated: false,
  estimateMinNs: null,
  estimateMaxNs: null,
  heldNs: null,
  queueDepth: null,
  blockers: [],
  ...set,
});

const traceOf = (rows: readonly TraceRow[]): TraceDetail => ({
  index: 0,
  traceId: 'a'.repeat(32),
  route: 'GET /',
  service: 's',
  outcome: 'success',
  kind: 'true',
  status: '200',
  startUnixNano: 0n,
  durationNs: 10,
  rows,
  otherParts: [],
  pieces: [],
});

const ROOT = row({ name: 'GET /', depth: 0, parent: -1, segment: 'unaccounted', ownedNs: 5 });

test('identical leaves become one line with their number; unfolding shows each', () => {
  const trace = traceOf([ROOT, row({}), row({}), row({}), row({ name: 'other' })]);
  const folded = visibleRows(trace, []);
  assert.deepEqual(
    folded.map(({ index, count, ownedNs }) => [index, count, ownedNs]),
    [
      [0, 1, 5],
      [1, 3, 3],
      [4, 1, 1],
    ],
  );
  assert.equal(visibleRows(trace, [1, 2, 3]).length, 5);
  assert.equal(visibleRows(trace, [0]).length, 1);
});

test('lines are listed again only when a fold changes', () => {
  const trace = traceOf([ROOT, row({})]);
  const none: readonly number[] = [];
  assert.equal(visibleRows(trace, none), visibleRows(trace, none));
  assert.notEqual(visibleRows(trace, none), visibleRows(trace, [0]));
});

test('detached spans stand in a section of their own, which folds', () => {
  const trace = traceOf([ROOT, row({}), row({ name: 'later', parent: -1, detached: true, ownedNs: 0 })]);
  const lines = visibleRows(trace, []);
  assert.deepEqual(lines.map(isSection), [false, false, true, false]);
  assert.equal(lines[2].count, 1);
  assert.equal(visibleRows(trace, [DETACHED_SECTION]).length, 3);
});

test('parts of a trace add up, and an estimate shows its bounds', () => {
  const trace = traceOf([ROOT, row({}), row({ ownedNs: 4 })]);
  assert.equal(
    traceParts(trace).reduce((sum, part) => sum + part.ownedNs, 0),
    10,
  );
  assert.equal(estimateText(row({})), '');
  assert.equal(estimateText(row({ estimated: true })), '≈ estimated, bounds not stated');
  assert.equal(
    estimateText(row({ estimated: true, estimateMinNs: 3e6, estimateMaxNs: 9e6 })),
    '≈ estimated, between 3 ms and 9 ms',
  );
  assert.equal(
    estimateText(row({ estimated: true, estimateMinNs: 982_000_100, estimateMaxNs: 982_000_300 })),
    '≈ estimated, to within 200 ns',
  );
});

test('sorting bare numbers gives the order of a comparator, ties by index, in both directions', () => {
  const values = Float64Array.from({ length: 500 }, (_, i) => (i * 7919) % 97);
  const indexes = Array.from({ length: 500 }, (_, i) => i).filter((i) => i % 3 !== 0);
  for (const sign of [1, -1] as const) {
    const expected = [...indexes].sort((a, b) => sign * (values[a] - values[b]) || a - b);
    assert.deepEqual([...sortedBy(values, indexes, sign)], expected);
  }
});

test('short ids are the start, which the command line takes too, except where it is padding', () => {
  assert.equal(shortId('4bf92f3577b34da6a3ce929d0e0e4736'), '4bf92f35');
  assert.equal(shortId('0000000000000000a3ce929d0e0e4736'), '0e0e4736');
});

test('a line packs what fits and passes over what does not', () => {
  assert.deepEqual(pack(['aaaa', 'bbbbbbbbbb', 'cc'], ' · ', 10), { text: 'aaaa · cc', shown: 2 });
});

test('progress says how far, or how much where the end is unknown', () => {
  assert.equal(
    progressText({ phase: 'reading', bytes: 420e6, totalBytes: 1e9, spans: 123456 }),
    '42 % of 1 GB · 123,456 spans',
  );
  assert.equal(
    progressText({ phase: 'reading', bytes: 420e6, totalBytes: null, spans: 0 }),
    '420 MB · 0 spans',
  );
});

test('two runs are compared at the rates both have; recovery and warm-up are left out', () => {
  const { report } = session;
  const steps = commonSteps(report, report);
  assert.ok(steps.length > 1);
  for (const { before, after } of steps) {
    assert.equal(before, after);
    assert.notEqual(before.phase, 'recovery');
  }
  const facts = comparedFacts(report, withVerdict({ kneePerSecond: null, status: 'not-saturated' }).report);
  assert.deepEqual(facts[0].after, 'not reached');
});

test('who waits and who holds add up to what was recorded', async () => {
  const waits = await session.waits('lock:campaign', 5);
  assert.equal(waits.examples.length, 5);
  assert.equal(
    waits.waiters.reduce((sum, waiter) => sum + waiter.count, 0),
    waits.count,
  );
  assert.equal(
    waits.waiters.reduce((sum, waiter) => sum + waiter.totalNs, 0),
    waits.totalNs,
  );
  assert.ok(waits.holders.length > 0);
  assert.ok(waits.blockers.length > 0 && waits.blockers[0].totalNs > 0);
});

test('the cohorts of a step add up to their means', async () => {
  const group = await session.step(2);
  assert.equal(group.cohorts.length, 3);
  for (const { meanNs, segments } of group.cohorts)
    assert.equal(
      segments.reduce((sum, part) => sum + part.meanNs, 0),
      meanNs,
    );
});
