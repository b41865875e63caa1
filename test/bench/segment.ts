/**
 * What recording one wait costs, against starting and ending a span with the SDK's tracer:
 *
 *   npm run bench:segment
 *
 * Both make a span with the same name, times and attributes and hand it to a processor that drops it. The best of
 * many short batches counts: other load on the machine can only make a batch slower.
 */
import { context, SpanKind, trace } from '@opentelemetry/api';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { WaitfallSpanProcessor } from '@waitfall/instrumentation';
import { currentAnchor, now } from '../../instrumentation/src/core/clock.ts';
import { emitSegment, setMinWaitMs } from '../../instrumentation/src/core/emit.ts';
import { loopClock } from '../../instrumentation/src/core/loop-clock.ts';
import { parsePlan } from '../../instrumentation/src/pg/sql/parse.ts';
import { PlanCache } from '../../instrumentation/src/pg/sql/plan-cache.ts';

const BATCH = 2_000;
const BATCHES = 60;
/** The goal: recording is this many times cheaper than the tracer. */
const GOAL = 10;

const drop = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
const provider = new TracerProvider({ spanProcessors: [new WaitfallSpanProcessor(drop)] });
trace.setGlobalTracerProvider(provider);
setMinWaitMs(0);
loopClock.start();
const tracer = provider.getTracer('bench');

function bestNs(run: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let batch = 0; batch < BATCHES; batch++) {
    const startMs = now();
    for (let i = 0; i < BATCH; i++) run();
    best = Math.min(best, ((now() - startMs) / BATCH) * 1e6);
  }
  return best;
}

/** A new request for every batch: one request does not get spans without end. */
function underRequest(run: (parent: ReturnType<typeof context.active>) => void): () => void {
  let left = 0;
  let parent = context.active();
  return () => {
    if (left-- === 0) {
      left = 500;
      parent = trace.setSpan(context.active(), tracer.startSpan('request', { kind: SpanKind.SERVER }));
    }
    run(parent);
  };
}

const segmentNs = bestNs(
  underRequest((parent) => {
    emitSegment({
      segment: 'pool_wait',
      resource: 'pg-pool:bench',
      parent,
      startMs: 1_000,
      endMs: 1_010,
      outcome: 'acquired',
      capacity: 10,
      inUse: 10,
      queueDepth: 3,
      holdMs: 20,
    });
  }),
);
const anchor = currentAnchor();
const tracerNs = bestNs(
  underRequest((parent) => {
    const span = tracer.startSpan(
      'wait_for pg-pool:bench',
      {
        startTime: anchor.toHrTime(1_000),
        attributes: {
          'waitfall.segment': 'pool_wait',
          'waitfall.resource': 'pg-pool:bench',
          'waitfall.outcome': 'acquired',
          'waitfall.resource.capacity': 10,
          'waitfall.resource.in_use': 10,
          'waitfall.resource.queue_depth': 3,
          'waitfall.hold.duration_ns': 20_000_000,
        },
      },
      parent,
    );
    span.end(anchor.toHrTime(1_010));
  }),
);
const cache = new PlanCache();
const text = 'UPDATE campaign SET stock = stock - 1 WHERE id = $1 AND stock > 0 RETURNING stock';

const rows: [string, number][] = [
  ['a wait recorded as a finished span', segmentNs],
  ['the same with startSpan and end of the SDK', tracerNs],
  ['reading the loop clock', bestNs(() => loopClock.waitAt(now()))],
  ['plan of a statement seen before', bestNs(() => cache.get(text))],
  ['plan of a statement seen for the first time', bestNs(() => parsePlan(text))],
];
for (const [what, ns] of rows) console.log(`${what.padEnd(46)} ${ns.toFixed(0).padStart(8)} ns`);
const times = tracerNs / segmentNs;
console.log(
  `\nrecording is ${times.toFixed(1)} times cheaper: goal ${GOAL} ${times >= GOAL ? 'reached' : 'missed'}`,
);
