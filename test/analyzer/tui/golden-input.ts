/** Rates of the load steps, requests a second, each a second long; the row holds for 1/50 s, so 50/s is its limit. */
const RATES = [20, 40, 60, 80];
const HOLD_NS = 20_000_000;
const WORK_NS = 2_000_000;
const START = 1_760_000_000_000_000_000n;

const hex = (n: number, length: number): string => n.toString(16).padStart(length, '0');

/**
 * @returns OTLP JSON of 200 requests that all update one row: a queue of one server, worked out on paper. Request n
 * comes evenly spaced, works 2 ms, waits for the row until the one before it has let go, holds it for 20 ms.
 */
export function goldenTraces(): string {
  const spans: unknown[] = [];
  let free = 0;
  let n = 0;
  RATES.forEach((ratePerSecond, step) => {
    for (let i = 0; i < ratePerSecond; i++, n++) {
      const arrival = step * 1e9 + Math.round((i * 1e9) / ratePerSecond);
      const asked = arrival + WORK_NS;
      const granted = Math.max(asked, free);
      const done = granted + HOLD_NS;
      spans.push(...request(n, arrival, asked, granted, done, free > asked));
      free = done;
    }
  });
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'signup' } }] };
  return `${JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'golden' }, spans }] }] })}\n`;
}

/** @returns the load plan of the same steps. */
export function goldenPlan(): string {
  const at = (second: number): string => String(START + BigInt(second) * 1_000_000_000n);
  const steps = RATES.map((arrivalsPerSecond, step) => ({
    startUnixNano: at(step),
    endUnixNano: at(step + 1),
    arrivalsPerSecond,
    phase: 'ramp',
  }));
  return JSON.stringify({ steps });
}

function request(
  n: number,
  arrival: number,
  asked: number,
  granted: number,
  done: number,
  blocked: boolean,
): unknown[] {
  const traceId = (index: number): string => hex(index + 0x10000000, 8).repeat(4);
  const spanId = (index: number, span: number): string => hex(index * 8 + span + 1, 16);
  const span = (
    id: number,
    parent: number,
    name: string,
    kind: number,
    from: number,
    to: number,
    attributes: Readonly<Record<string, string | number>>,
    links: unknown[] = [],
  ) => ({
    traceId: traceId(n),
    spanId: spanId(n, id),
    parentSpanId: parent < 0 ? '' : spanId(n, parent),
    name,
    kind,
    startTimeUnixNano: String(START + BigInt(from)),
    endTimeUnixNano: String(START + BigInt(to)),
    attributes: attributesOf(attributes),
    links,
  });
  const link = {
    traceId: traceId(n - 1),
    spanId: spanId(n - 1, 1),
    attributes: attributesOf({ 'waitfall.link': 'blocked_by' }),
  };
  return [
    span(0, -1, 'POST', 2, arrival, done + WORK_NS, {
      'http.request.method': 'POST',
      'http.route': '/signup',
      'http.response.status_code': 201,
    }),
    span(1, 0, 'UPDATE campaign', 3, asked, granted + 1_000_000, {
      'db.system.name': 'postgresql',
      'server.address': 'db',
    }),
    span(
      2,
      1,
      'wait_for lock:campaign',
      1,
      asked,
      granted,
      {
        'waitfall.segment': 'lock_wait',
        'waitfall.resource': 'lock:campaign',
        'waitfall.resource.capacity': 1,
        'waitfall.outcome': 'acquired',
        'waitfall.lock.key': 'c678b7ff',
        'waitfall.hold.duration_ns': HOLD_NS,
      },
      blocked ? [link] : [],
    ),
    span(3, 0, 'INSERT audit 監査', 3, granted + 1_000_000, done, {
      'db.system.name': 'postgresql',
      'server.address': 'db',
    }),
    // Runs on after everything that could have waited for it.
    ...(n === 199
      ? [span(4, 0, 'send confirmation', 4, done, done + 50_000_000, { 'messaging.system': 'kafka' })]
      : []),
  ];
}

function attributesOf(all: Readonly<Record<string, string | number>>): unknown[] {
  return Object.entries(all).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  }));
}
