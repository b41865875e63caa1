/** A span of a test input: times in ns after {@link EPOCH}. */
export interface TestSpan {
  readonly trace?: number;
  readonly id: number;
  readonly parent?: number;
  readonly name?: string;
  readonly start: number;
  readonly end: number;
  /** OTLP SpanKind; 1 (INTERNAL) where absent. */
  readonly kind?: number;
  readonly error?: boolean;
  readonly service?: string;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
}

/** Above 2^53 ns and not a multiple of 256: doubles would show. */
export const EPOCH = 1_760_000_000_000_000_003n;

export const traceId = (n: number) => `4b${n.toString(16).padStart(30, '0')}`;
export const spanId = (n: number) => `5c${n.toString(16).padStart(14, '0')}`;

/** @returns spans as one OTLP/JSON document, one ResourceSpans a service. */
export function otlp(spans: readonly TestSpan[]): string {
  const services = [...new Set(spans.map((span) => span.service ?? 'shop'))];
  return JSON.stringify({
    resourceSpans: services.map((service) => ({
      resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
      scopeSpans: [
        {
          scope: { name: 'test' },
          spans: spans.filter((span) => (span.service ?? 'shop') === service).map(toOtlp),
        },
      ],
    })),
  });
}

function toOtlp(span: TestSpan) {
  return {
    traceId: traceId(span.trace ?? 1),
    spanId: spanId(span.id),
    ...(span.parent === undefined ? {} : { parentSpanId: spanId(span.parent) }),
    name: span.name ?? `span ${span.id}`,
    kind: span.kind ?? 1,
    startTimeUnixNano: String(EPOCH + BigInt(span.start)),
    endTimeUnixNano: String(EPOCH + BigInt(span.end)),
    attributes: Object.entries(span.attributes ?? {}).map(([key, value]) => ({
      key,
      value:
        typeof value === 'string'
          ? { stringValue: value }
          : typeof value === 'boolean'
            ? { boolValue: value }
            : { intValue: String(value) },
    })),
    ...(span.error ? { status: { code: 2 } } : {}),
  };
}

/** A sign-up request: admission, pool and lock waits around a statement; `slow` stretches the lock wait. */
export function signup(
  trace: number,
  at: number,
  slow = 0,
  attributes: TestSpan['attributes'] = {},
): TestSpan[] {
  const ms = (n: number) => at + n * 1_000_000;
  const base = trace * 16;
  const wait = (segment: string, resource: string, more: TestSpan['attributes'] = {}) => ({
    'waitfall.segment': segment,
    'waitfall.resource': resource,
    'waitfall.outcome': 'acquired',
    ...more,
  });
  return [
    {
      trace,
      id: base,
      name: 'POST /signup',
      kind: 2,
      start: ms(0),
      end: ms(60 + slow),
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/signup',
        'http.response.status_code': 201,
        ...attributes,
      },
    },
    {
      trace,
      id: base + 1,
      parent: base,
      name: 'wait_for http.server',
      start: ms(0),
      end: ms(5),
      attributes: wait('admission_wait', 'http.server', { 'waitfall.resource.capacity': 32 }),
    },
    {
      trace,
      id: base + 2,
      parent: base,
      name: 'wait_for pg-pool:signup',
      start: ms(10),
      end: ms(20),
      attributes: wait('pool_wait', 'pg-pool:signup', {
        'waitfall.resource.capacity': 10,
        'waitfall.hold.duration_ns': (35 + slow) * 1_000_000,
      }),
    },
    {
      trace,
      id: base + 3,
      parent: base,
      name: 'UPDATE campaign',
      kind: 3,
      start: ms(25),
      end: ms(50 + slow),
      attributes: { 'db.system.name': 'postgresql', 'server.address': 'db' },
    },
    {
      trace,
      id: base + 4,
      parent: base + 3,
      name: 'wait_for lock:campaign',
      start: ms(25),
      end: ms(40 + slow),
      attributes: wait('lock_wait', 'lock:campaign', { 'waitfall.hold.duration_ns': 12_000_000 }),
    },
  ];
}
