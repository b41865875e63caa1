import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, SpanKind, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { segment, WaitfallSpanProcessor, withHold, withWait } from '@waitfall/instrumentation';
import { now } from '../../instrumentation/src/core/clock.ts';
import { rootOf } from '../../instrumentation/src/core/root.ts';
import { enterWork } from '../../instrumentation/src/core/work.ts';
import { type Recording, request, startRecording } from './support/recording.ts';

let recording: Recording;

before(() => {
  recording = startRecording({ official: false });
});
after(() => recording.stop());
beforeEach(() => recording.clear());

function spin(ms: number): void {
  const untilMs = now() + ms;
  while (now() < untilMs);
}

test('withWait records what it waited for and passes results and errors through', async () => {
  const { traceId, value } = await request(() =>
    withWait('printer', () => sleep(5, 'paper'), { capacity: 2, queueDepth: 3 }),
  );
  assert.equal(value, 'paper');
  const [wait] = recording.segment('pool_wait');
  assert.equal(wait.name, 'wait_for printer');
  assert.equal(wait.traceId, traceId);
  assert.equal(wait.attributes['waitfall.resource.capacity'], 2);
  assert.equal(wait.attributes['waitfall.resource.queue_depth'], 3);
  assert.ok(wait.lengthMs >= 4);
  const broken = new Error('no paper');
  await request(() =>
    withWait('printer', () => Promise.reject(broken), { segment: 'lock_wait' }).catch((error) =>
      assert.equal(error, broken),
    ),
  );
  assert.equal(recording.segment('lock_wait')[0].attributes['waitfall.outcome'], 'rejected');
});

test('withHold records the wait and the hold on one span, and releases whatever happens', async () => {
  let released = 0;
  await request(async () => {
    await withHold('printer', () => sleep(10), {
      acquire: () => sleep(5),
      release: () => released++,
      capacity: 1,
    });
    await withHold('printer', () => Promise.reject(new Error('jam')), { release: () => released++ }).catch(
      () => {},
    );
  });
  assert.equal(released, 2);
  const [first, second] = recording.segment('pool_wait');
  assert.ok(first.lengthMs >= 4);
  assert.ok((first.attributes['waitfall.hold.duration_ns'] as number) >= 9e6);
  assert.equal(second.lengthMs, 0);
});

test('segment records synchronous work', async () => {
  await request(async () => {
    const result = segment('work', () => {
      const until = performance.now() + 5;
      while (performance.now() < until);
      return 42;
    });
    assert.equal(result, 42);
  });
  const [work] = recording.segment('work').filter((span) => span.lengthMs >= 4.9);
  assert.ok(work);
});

test('work inside work is counted once, and each piece stands under the innermost name', async () => {
  let tookMs = 0;
  await request(async (active) => {
    await sleep(1);
    const startMs = now();
    // As the callback of a wait does: what runs from here on is a slice by itself.
    enterWork(rootOf(active), startMs);
    spin(4);
    segment(
      'work',
      () => {
        spin(4);
        segment('work', () => spin(4), 'inner');
        spin(4);
      },
      'outer',
    );
    spin(4);
    tookMs = now() - startMs;
  });
  const work = recording.segment('work');
  assert.deepEqual(
    work.map(({ name }) => name),
    ['work', 'outer', 'inner', 'outer', 'work'],
  );
  for (const [index, piece] of work.entries()) {
    assert.ok(piece.lengthMs >= 3.9, `${piece.name}: ${piece.lengthMs} ms`);
    if (index > 0) assert.ok(piece.startMs >= work[index - 1].endMs - 1e-3, 'pieces do not overlap');
  }
  const root = recording.spans().find((span) => span.name === 'request');
  const sumMs = (root?.attributes['waitfall.time.work_ns'] as number) / 1e6;
  assert.ok(sumMs >= 19.5 && sumMs <= tookMs + 2, `${sumMs} ms of work in ${tookMs} ms`);
});

test('outside a request nothing is recorded, and everything runs', async () => {
  assert.equal(await withWait('printer', () => 1), 1);
  assert.equal(await withHold('printer', () => 2), 2);
  assert.equal(
    segment('work', () => 3),
    3,
  );
  assert.deepEqual(recording.spans(), []);
});

test('the root span carries the sums of its request', async () => {
  await request(async () => {
    await withWait('a', () => sleep(5));
    await withWait('b', () => sleep(5));
    await withWait('lock', () => sleep(5), { segment: 'lock_wait' });
    for (let i = 0; i < 3; i++) await withWait('fast', () => {});
  });
  const spans = recording.spans();
  const root = spans.find((span) => span.name === 'request');
  const waits = recording.segment('pool_wait');
  const slow = waits.filter((span) => !span.name.endsWith('fast'));
  assert.equal(slow.length, 2);
  // A wait too short for a span has none; a busy machine may make one of them longer.
  const dropped = 3 - (waits.length - slow.length);
  const sumNs = root?.attributes['waitfall.time.pool_wait_ns'] as number;
  assert.ok(sumNs >= waits.reduce((sum, span) => sum + span.lengthMs, 0) * 1e6 - 10);
  assert.ok((root?.attributes['waitfall.time.lock_wait_ns'] as number) >= 3.9e6);
  assert.ok(dropped > 0, 'none of them was short');
  assert.equal(root?.attributes['waitfall.dropped_count'], dropped);
  assert.ok((root?.attributes['waitfall.dropped_ns'] as number) > 0);
  const utilization = root?.attributes['waitfall.eventloop.utilization'] as number;
  assert.ok(utilization >= 0 && utilization <= 1);
});

test('two exporters, each behind a processor of ours, get the same spans', async () => {
  const exporters = [new InMemorySpanExporter(), new InMemorySpanExporter()];
  const provider = new TracerProvider({
    spanProcessors: exporters.map(
      (exporter) => new WaitfallSpanProcessor(new SimpleSpanProcessor({ exporter })),
    ),
  });
  const tracer = provider.getTracer('two');
  const span = tracer.startSpan('request', { kind: SpanKind.SERVER });
  await context.with(trace.setSpan(context.active(), span), () => withWait('printer', () => sleep(5)));
  span.end();
  const [first, second] = exporters.map((exporter) =>
    exporter
      .getFinishedSpans()
      .map(
        (s) =>
          `${s.name} ${s.spanContext().spanId} ${s.startTime} ${s.endTime} ${JSON.stringify(s.attributes)}`,
      )
      .sort(),
  );
  assert.equal(first.length, 2);
  assert.deepEqual(first, second);
  await provider.shutdown();
});
