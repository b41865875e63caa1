interface SmallSpan {
  readonly id: number;
  readonly parent: number;
  readonly name: string;
  readonly kind: number;
  /** ms after the start. */
  readonly from: number;
  readonly to: number;
  readonly attributes?: Readonly<Record<string, string | number>>;
}

const SPANS: readonly SmallSpan[] = [
  {
    id: 1,
    parent: 0,
    name: 'POST',
    kind: 2,
    from: 0,
    to: 10,
    attributes: { 'http.route': '/signup', 'http.request.method': 'POST', 'http.response.status_code': 201 },
  },
  {
    id: 2,
    parent: 1,
    name: 'wait_for pg-pool:signup',
    kind: 1,
    from: 1,
    to: 4,
    attributes: {
      'waitfall.segment': 'pool_wait',
      'waitfall.resource': 'pg-pool:signup',
      'waitfall.resource.capacity': 10,
      'waitfall.outcome': 'acquired',
      'waitfall.hold.duration_ns': 5_000_000,
    },
  },
  {
    id: 3,
    parent: 1,
    name: 'UPDATE campaign',
    kind: 3,
    from: 4,
    to: 9,
    attributes: { 'db.system.name': 'postgresql', 'server.address': 'db' },
  },
  {
    id: 4,
    parent: 3,
    name: 'wait_for lock:campaign',
    kind: 1,
    from: 4,
    to: 7,
    attributes: {
      'waitfall.segment': 'lock_wait',
      'waitfall.resource': 'lock:campaign',
      'waitfall.resource.capacity': 1,
      'waitfall.outcome': 'acquired',
    },
  },
];

/** @returns one request of 10 ms with a pool wait and a lock wait, as a line of OTLP JSON. */
export function oneRequest(): string {
  const start = 1_760_000_000_000_000_000n;
  const at = (ms: number): string => String(start + BigInt(ms) * 1_000_000n);
  const id = (n: number): string => n.toString(16).padStart(16, '0');
  const attributesOf = (all: SmallSpan['attributes'] = {}) =>
    Object.entries(all).map(([key, value]) => ({
      key,
      value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
    }));
  const spans = SPANS.map((span) => ({
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: id(span.id),
    parentSpanId: span.parent === 0 ? '' : id(span.parent),
    name: span.name,
    kind: span.kind,
    startTimeUnixNano: at(span.from),
    endTimeUnixNano: at(span.to),
    attributes: attributesOf(span.attributes),
    status: {},
  }));
  const resource = { attributes: attributesOf({ 'service.name': 'signup' }) };
  return `${JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'test' }, spans }] }] })}\n`;
}
