import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { analyze, readInputs } from '../../../analyzer/src/index.ts';
import { writeOtlp } from '../../sim/export/index.ts';
import { FULL_EXPORT } from '../../sim/export/types.ts';
import { simulate } from '../../sim/simulate.ts';
import { hotRow } from '../../sim/small.ts';

/*
 * Every number the verdict rests on, computed a second time from the files of a run: plain JSON and sums, nothing of
 * the analyzer. One row is held for about 10 ms, so it saturates near 98/s; all is served in order, nothing is parallel.
 */

const directory = mkdtempSync(join(tmpdir(), 'waitfall-recompute-'));
after(() => rmSync(directory, { recursive: true }));

const RATES = [20, 30, 45, 60, 80, 110, 140];
const service = hotRow();
const steps = RATES.map((arrivalsPerSecond) => ({
  arrivalsPerSecond,
  durationNs: 3e9,
  phase: 'ramp' as const,
}));
await writeOtlp(
  simulate({ ...service, load: { ...service.load, steps } }, { record: true, stopAtEnd: false }),
  FULL_EXPORT,
  directory,
);

interface Span {
  readonly trace: string;
  readonly name: string;
  readonly root: boolean;
  /** ns after the first step. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Readonly<Record<string, string>>;
}

interface Step {
  readonly startUnixNano: string;
  readonly endUnixNano: string;
  readonly arrivalsPerSecond: number;
}

const plan = (JSON.parse(readFileSync(join(directory, 'load.json'), 'utf8')) as { steps: Step[] }).steps;
const origin = BigInt(plan[0].startUnixNano);
const windows = plan.map((step) => ({
  start: Number(BigInt(step.startUnixNano) - origin),
  end: Number(BigInt(step.endUnixNano) - origin),
}));

const spans = readFileSync(join(directory, 'traces.jsonl'), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  // biome-ignore lint/suspicious/noExplicitAny: OTLP JSON as it stands in the file
  .flatMap((line) => (JSON.parse(line) as any).resourceSpans)
  .flatMap((resource) => resource.scopeSpans)
  .flatMap((scope) => scope.spans)
  .map(
    (span): Span => ({
      trace: span.traceId,
      name: span.name,
      root: !span.parentSpanId,
      start: Number(BigInt(span.startTimeUnixNano) - origin),
      end: Number(BigInt(span.endTimeUnixNano) - origin),
      attributes: Object.fromEntries(
        // biome-ignore lint/suspicious/noExplicitAny: OTLP JSON as it stands in the file
        (span.attributes ?? []).map((one: any) => [one.key, String(Object.values(one.value)[0])]),
      ),
    }),
  );

const byTrace = Map.groupBy(spans, (span) => span.trace);
const requests = [...byTrace.values()].map((own) => {
  const root = own.find((span) => span.root)!;
  return { root, spans: own, window: windows.findIndex((w) => root.start >= w.start && root.start < w.end) };
});
const inWindow = (w: number) => requests.filter((request) => request.window === w);
const seconds = (w: number) => (windows[w].end - windows[w].start) / 1e9;
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
const mean = (values: readonly number[]) => sum(values) / values.length;
const overlap = (a: { start: number; end: number }, b: { start: number; end: number }) =>
  Math.max(0, Math.min(a.end, b.end) - Math.max(a.start, b.start));

/** The hold of a resource: from the end of the wait that took it, as long as it states. */
function holdsOf(request: (typeof requests)[number], resource: string) {
  return request.spans
    .filter((span) => span.attributes['waitfall.resource'] === resource)
    .filter((span) => span.attributes['waitfall.hold.duration_ns'] !== undefined)
    .map((span) => ({
      start: span.end,
      end: span.end + Number(span.attributes['waitfall.hold.duration_ns']),
    }));
}

/** Waits for another queue inside a hold. */
function nested(request: (typeof requests)[number], hold: { start: number; end: number }, segment: string) {
  return sum(
    request.spans
      .filter((span) => span.attributes['waitfall.segment'] === segment)
      .map((span) => overlap(span, hold)),
  );
}

const { verdict, resources, windows: rows, frame } = analyze(await readInputs([directory]));
const LOCK = 'lock:campaign';
const POOL = 'pg-pool:signup';
const lock = resources.find((row) => row.resource === LOCK)!;

function near(actual: number | null | undefined, expected: number, share = 1e-3): void {
  assert.ok(
    actual != null && Math.abs(actual - expected) <= share * Math.abs(expected),
    `${actual} is not ${expected}`,
  );
}

test('rule 2: rates, mean waits, mean holds and utilisation of each window', () => {
  for (const [w, row] of rows.entries()) {
    near(row.receivedPerSecond, inWindow(w).length / seconds(w), 1e-9);
    const waits = inWindow(w).map((request) =>
      sum(request.spans.filter((s) => s.name === `wait_for ${LOCK}`).map((s) => s.end - s.start)),
    );
    near(lock.windows[w].meanWaitNs, mean(waits), 1e-9);
    const holds = inWindow(w).flatMap((request) =>
      holdsOf(request, LOCK).map((hold) => hold.end - hold.start),
    );
    near(lock.windows[w].meanHoldNs, mean(holds), 1e-9);
    const busy = sum(requests.flatMap((r) => holdsOf(r, LOCK).map((hold) => overlap(hold, windows[w]))));
    near(lock.windows[w].utilization, busy / (windows[w].end - windows[w].start), 1e-9);
  }
});

/** Own hold of the lock: without waits for the event loop inside it (the database has no queue). */
const ownHolds = (w: number) =>
  inWindow(w).flatMap((request) =>
    holdsOf(request, LOCK).map((hold) => hold.end - hold.start - nested(request, hold, 'eventloop_wait')),
  );

test('rule 5: own demand and the rate alone, from the windows below 0.85 x that rate', () => {
  const demandOver = (set: readonly number[]) =>
    sum(set.flatMap(ownHolds)) / sum(set.map((w) => inWindow(w).length));
  const below = (limit: number) => RATES.flatMap((_, w) => (rows[w].receivedPerSecond <= limit ? [w] : []));
  const first = 1e9 / demandOver(below(0.62 * Math.max(...rows.map((row) => row.receivedPerSecond))));
  const pre = below(0.85 * first);
  assert.deepEqual([...frame.pre].sort(), pre);
  near(lock.ownDemandNs, demandOver(pre));
  near(lock.saturatesAtPerSecond, 1e9 / demandOver(pre));
  near(lock.visitsPerRequest, 1, 1e-9);
});

test('rule 8, the knee: holds of the lock that ended in the windows in which it was full, per second', () => {
  const full = lock.windows.flatMap((window, w) =>
    window.utilization! > 0.95 && rows[w].receivedPerSecond > lock.saturatesAtPerSecond! ? [w] : [],
  );
  const ended = full.map(
    (w) =>
      requests
        .flatMap((r) => holdsOf(r, LOCK))
        .filter((h) => h.end >= windows[w].start && h.end < windows[w].end).length / seconds(w),
  );
  assert.ok(full.length > 0);
  near(verdict.kneePerSecond, mean(ended), 1e-9);
});

test('rule 9, the chain: how much the hold of the pool grew, and the share of it that is waiting for the lock', () => {
  const knee = verdict.kneePerSecond!;
  const of = (accept: (rate: number) => boolean) =>
    requests.filter((request) => request.window >= 0 && accept(rows[request.window].receivedPerSecond));
  const before = of((rate) => rate <= 0.55 * knee);
  const beyond = of((rate) => rate >= 0.97 * knee);
  const hold = (set: typeof requests) =>
    mean(set.flatMap((request) => holdsOf(request, POOL).map((one) => one.end - one.start)));
  const waiting = (set: typeof requests) =>
    mean(set.flatMap((request) => holdsOf(request, POOL).map((one) => nested(request, one, 'lock_wait'))));
  const growth = hold(beyond) - hold(before);
  const link = verdict.chain.find(({ resource }) => resource === POOL)!;
  near(link.holdGrowthNs, growth);
  near(link.share, (waiting(beyond) - waiting(before)) / growth);
  assert.deepEqual(
    verdict.chain.map(({ resource }) => resource),
    [LOCK, POOL],
  );
});

test('rule 4: what the hold consists of adds up, and is what the spans inside it say', () => {
  near(sum(lock.holdComposition.map(({ share }) => share)), 1, 0.02);
  const inside = requests.filter(({ window }) => window >= 0);
  const all = sum(inside.flatMap((request) => holdsOf(request, LOCK).map((hold) => hold.end - hold.start)));
  const loop = sum(
    inside.flatMap((request) =>
      holdsOf(request, LOCK).map((hold) => nested(request, hold, 'eventloop_wait')),
    ),
  );
  const said = lock.holdComposition.find(({ what }) => what.startsWith('eventloop_wait'))?.share ?? 0;
  assert.ok(Math.abs(said - loop / all) < 0.01, `${said} is not ${loop / all}`);
});

test('what-if: twice as fast, the lock could serve twice as many; the range starts from that', async () => {
  const input = await readInputs([directory]);
  const [halved] = analyze(input, { whatIf: [`${LOCK} hold x0.5`] }).verdict.whatIf;
  assert.equal(halved.next?.resource, LOCK);
  near(halved.next?.saturatesAtPerSecond, 2 * lock.saturatesAtPerSecond!);
  assert.ok(halved.kneePerSecond!.high <= 2 * lock.saturatesAtPerSecond! * 1.1);
});
