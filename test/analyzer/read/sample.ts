/** A small trace that uses every field of OTLP: two services, a wait, a link, an event, every type of value. */
export const BASE = 1_750_000_000_000_000_000n;

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly [field: string]: unknown;
}

interface ResourceSpans {
  readonly resource: { readonly attributes: readonly object[] };
  readonly scopeSpans: readonly { readonly scope: object; readonly spans: readonly OtlpSpan[] }[];
}

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const OTHER = '000000000000000053995c3f42cd8ad8';

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const int = (key: string, intValue: string) => ({ key, value: { intValue } });
const at = (ns: bigint) => String(BASE + ns);

export const RICH: readonly ResourceSpans[] = [
  {
    resource: {
      attributes: [
        text('service.name', 'shop'),
        text('service.instance.id', 'shop-1'),
        int('process.pid', '7'),
      ],
    },
    scopeSpans: [
      {
        scope: { name: 'http', version: '1.2' },
        spans: [
          {
            traceId: TRACE,
            spanId: '00f067aa0ba902b7',
            name: 'GET /buy/:id',
            kind: 2,
            startTimeUnixNano: at(1n),
            endTimeUnixNano: at(9_000_001n),
            traceState: 'ot=th:8',
            attributes: [
              text('http.route', '/buy/:id'),
              { key: 'ratio', value: { doubleValue: 0.25 } },
              { key: 'retry', value: { boolValue: true } },
              { key: 'off', value: { boolValue: false } },
              int('big', '9007199254740993'),
              int('negative', '-5'),
              { key: 'blob', value: { bytesValue: 'AAEC' } },
              { key: 'list', value: { arrayValue: { values: [{ stringValue: 'ä' }, { intValue: '2' }] } } },
              { key: 'map', value: { kvlistValue: { values: [text('inner', '日本')] } } },
            ],
            status: { code: 2, message: 'sold out' },
            flags: 257,
          },
          {
            traceId: TRACE,
            spanId: '00f067aa0ba902b8',
            parentSpanId: '00f067aa0ba902b7',
            name: 'wait_for lock:stock',
            kind: 1,
            startTimeUnixNano: at(1_000n),
            endTimeUnixNano: at(4_000_000n),
            attributes: [text('waitfall.segment', 'lock_wait'), int('waitfall.resource.capacity', '1')],
            links: [
              {
                traceId: OTHER,
                spanId: '00f067aa0ba902ff',
                attributes: [text('waitfall.link', 'blocked_by')],
              },
            ],
            events: [{ timeUnixNano: at(2_000n), name: 'deadlock check', attributes: [int('n', '1')] }],
            status: {},
          },
        ],
      },
    ],
  },
  {
    resource: { attributes: [text('service.name', 'pay')] },
    scopeSpans: [
      {
        scope: {},
        spans: [
          {
            traceId: TRACE,
            spanId: 'ffffffffffffffff',
            parentSpanId: '00f067aa0ba902b7',
            name: 'charge',
            kind: 3,
            startTimeUnixNano: at(5_000_000n),
            endTimeUnixNano: at(8_000_000n),
            status: { code: 1 },
          },
          {
            traceId: OTHER,
            spanId: '0000000000000001',
            name: 'tick',
            kind: 0,
            startTimeUnixNano: at(0n),
            endTimeUnixNano: at(0n),
          },
        ],
      },
    ],
  },
];

/** What Jaeger and Zipkin can say too: whole microseconds, no links, text attributes, one attribute a Resource. */
export const PLAIN: readonly ResourceSpans[] = [
  {
    resource: { attributes: [text('service.name', 'shop')] },
    scopeSpans: [
      {
        scope: {},
        spans: [
          {
            traceId: TRACE,
            spanId: '00f067aa0ba902b7',
            name: 'get /buy',
            kind: 2,
            startTimeUnixNano: at(1_000n),
            endTimeUnixNano: at(9_001_000n),
            attributes: [text('http.route', '/buy')],
          },
          {
            traceId: TRACE,
            spanId: '00f067aa0ba902b8',
            parentSpanId: '00f067aa0ba902b7',
            name: 'wait_for pool:pg',
            kind: 1,
            startTimeUnixNano: at(2_000n),
            endTimeUnixNano: at(4_000_000n),
            attributes: [text('waitfall.segment', 'pool_wait'), int('waitfall.resource.capacity', '8')],
            events: [{ timeUnixNano: at(3_000n), name: 'full' }],
          },
        ],
      },
    ],
  },
  {
    resource: { attributes: [text('service.name', 'pay')] },
    scopeSpans: [
      {
        scope: {},
        spans: [
          {
            traceId: TRACE,
            spanId: 'ffffffffffffffff',
            parentSpanId: '00f067aa0ba902b7',
            name: 'charge',
            kind: 3,
            startTimeUnixNano: at(5_000_000n),
            endTimeUnixNano: at(8_000_000n),
            status: { code: 2 },
          },
        ],
      },
    ],
  },
];

/** @returns every span with its service name. */
export function spansOf(
  batches: readonly ResourceSpans[],
): { readonly service: string; readonly span: OtlpSpan }[] {
  return batches.flatMap((batch) => {
    const service = (batch.resource.attributes[0] as { value: { stringValue: string } }).value.stringValue;
    return batch.scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ service, span })));
  });
}
