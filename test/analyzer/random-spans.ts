import fc from 'fast-check';
import type { AttributeValue } from '../../analyzer/src/model/attributes.ts';
import type { Input } from '../../analyzer/src/model/input.ts';
import type { SpanTable } from '../../analyzer/src/model/span-table.ts';
import { anySpans, orderlySpans } from './tree/generate.ts';
import type { TestSpan } from './tree/spans.ts';

/** Some right, some nonsense: an attribute may say anything. */
const VALUES: Record<string, readonly AttributeValue[]> = {
  'waitfall.segment': [
    'admission_wait',
    'eventloop_wait',
    'pool_wait',
    'connection_wait',
    'lock_wait',
    'runtime_pause',
    'generator_wait',
    'work',
    'downstream',
    'hold',
    'nonsense',
  ],
  'waitfall.resource': ['http.server', 'pg-pool:a', 'lock:t', 'eventloop', '', 7],
  'waitfall.resource.capacity': [0, 1, 2, -1, '3', 'many'],
  'waitfall.resource.in_use': [0, 3, -2],
  'waitfall.resource.queue_depth': [0, 5],
  'waitfall.outcome': ['acquired', 'rejected', 'timeout', 'aborted', 'nonsense'],
  'waitfall.hold.duration_ns': [0, 5, 1e9, -3, '7', 2n ** 60n],
  'waitfall.lock.key': ['k1', 'k2'],
  'server.address': ['db', 'api', null],
  'http.route': ['/a', '/b'],
  'http.response.status_code': [200, 503, 499, '429', 'ok'],
  'db.query.text': ['update t set a = 1 where id = 1', 'begin', 'commit', 'not sql ('],
};
const NAMES = ['pg-pool.connect', 'pg.connect', 'pg.query:UPDATE x', 'GET /', 'op', 'dns.lookup'];

const extras = fc.array(
  fc.tuple(
    fc.constantFrom(...NAMES),
    fc
      .subarray(Object.keys(VALUES), { maxLength: 6 })
      .chain((keys) =>
        fc.tuple(...keys.map((key) => fc.constantFrom(...VALUES[key]).map((value) => [key, value] as const))),
      ),
  ),
  { minLength: 8, maxLength: 8 },
);

/** A few groups of traces, one after the other; times in ns, µs or ms. */
export const anySpansOfRequests = fc
  .tuple(
    fc.array(fc.oneof(anySpans, orderlySpans), { minLength: 1, maxLength: 8 }),
    extras,
    fc.constantFrom(1, 1e3, 1e6),
  )
  .map(([groups, more, scale]) =>
    groups.flatMap((spans, g) =>
      spans.map((span, i): TestSpan => {
        const [name, attributes] = more[(7 * g + i) % more.length];
        const at = (time: TestSpan['start']) => (typeof time === 'number' ? (time + 50 * g) * scale : time);
        return {
          ...span,
          trace: `${g + 1}${span.trace}`,
          name,
          start: at(span.start),
          end: at(span.end),
          attributes: { ...span.attributes, ...Object.fromEntries(attributes) },
        };
      }),
    ),
  );

export function inputOf(table: SpanTable): Input {
  return {
    table,
    metrics: [],
    files: [{ path: 'random', format: 'random', bytes: 0, spans: table.length, rejected: 0 }],
    rejected: [],
    invalidIds: 0,
    skipped: { logs: 0, profiles: 0 },
    loadPlans: [],
  };
}
