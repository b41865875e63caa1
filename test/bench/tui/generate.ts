import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

const TRACES_A_LINE = 200;
const SPANS_A_LINE = 2000;
const ROUTES = ['POST /signup', 'GET /signup/:id', 'GET /campaigns', 'POST /refund'];

/**
 * Writes OTLP JSON lines of small requests (a root, a pool wait, a query) with log-normal durations, arriving evenly.
 * The same numbers on every call: a multiplicative congruential generator, MINSTD (Park and Miller, 1988).
 */
export async function writeTraces(path: string, traces: number): Promise<void> {
  const file = createWriteStream(path);
  const random = minstd(42);
  const start = 1_760_000_000_000_000_000n;
  for (let first = 0; first < traces; first += TRACES_A_LINE) {
    const spans: unknown[] = [];
    for (let i = first; i < Math.min(traces, first + TRACES_A_LINE); i++) {
      const at = start + BigInt(i) * 2_000_000n;
      const total = Math.round(1e7 * Math.exp(1.2 * normal(random)));
      const wait = Math.round(total * random() * 0.8);
      const id = (n: number): string => (i * 3 + n).toString(16).padStart(16, '0');
      const traceId = `${id(1)}${(i * 2654435761).toString(16).padStart(16, '0')}`.slice(-32);
      const span = (n: number, name: string, kind: number, from: number, to: number, attributes: object) =>
        spans.push({
          traceId,
          spanId: id(n),
          parentSpanId: n === 1 ? '' : id(1),
          name,
          kind,
          startTimeUnixNano: String(at + BigInt(from)),
          endTimeUnixNano: String(at + BigInt(to)),
          attributes: Object.entries(attributes).map(([key, stringValue]) => ({
            key,
            value: { stringValue },
          })),
        });
      const route = ROUTES[Math.floor(random() * ROUTES.length)];
      span(1, route, 2, 0, total, {
        'http.route': route.split(' ')[1],
        'http.request.method': route.split(' ')[0],
      });
      span(2, 'wait_for pg-pool:signup', 1, 0, wait, {
        'waitfall.segment': 'pool_wait',
        'waitfall.resource': 'pg-pool:signup',
      });
      span(3, 'SELECT registration', 3, wait, total, { 'server.address': 'db' });
    }
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'signup' } }] };
    const line = JSON.stringify({
      resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'bench' }, spans }] }],
    });
    if (!file.write(`${line}\n`)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}

/** Writes one trace of `spans` spans, one child of the root after the other: the longest list the trace view can meet. */
export async function writeLongTrace(path: string, spans: number): Promise<void> {
  const file = createWriteStream(path);
  const start = 1_760_000_000_000_000_000n;
  const id = (n: number): string => n.toString(16).padStart(16, '0');
  const span = (n: number, parent: number, name: string, from: number, to: number) => ({
    traceId: 'ab'.repeat(16),
    spanId: id(n),
    parentSpanId: parent === 0 ? '' : id(parent),
    name,
    kind: parent === 0 ? 2 : 3,
    startTimeUnixNano: String(start + BigInt(from)),
    endTimeUnixNano: String(start + BigInt(to)),
  });
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'long' } }] };
  for (let first = 1; first <= spans; first += SPANS_A_LINE) {
    const batch: unknown[] = [];
    for (let n = first; n < Math.min(spans + 1, first + SPANS_A_LINE); n++) {
      const at = (n - 2) * 10_000;
      batch.push(
        n === 1 ? span(1, 0, 'GET /long', 0, spans * 10_000) : span(n, 1, `step ${n % 7}`, at, at + 9000),
      );
    }
    const line = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: batch }] }] });
    if (!file.write(`${line}\n`)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}

function minstd(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}

/** Box and Muller (1958). */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
}
