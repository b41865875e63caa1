/** A sign-up service's traces as OTLP/JSON, the same for the same seed. */

export interface TrafficOptions {
  readonly seed: number;
  readonly requests: number;
  /** Epoch ns of the first arrival. */
  readonly startUnixNano: bigint;
  readonly arrivalsPerSecond: number;
  /** Processes that share the requests; every trace has spans of a second service too. */
  readonly instances?: number;
}

/** What a request was made to be: the tail-sampling policies look for these. */
export type Fate = 'fast' | 'slow' | 'error' | 'rejected';

export interface Request {
  readonly traceId: string;
  readonly fate: Fate;
  readonly durationNs: number;
  /** Spans of the service that took the request, and of the one behind it. */
  readonly own: OtlpSpan[];
  readonly behind: OtlpSpan[];
  readonly instance: number;
}

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly [field: string]: unknown;
}

/** Slower than this is `slow`; gateway.yaml's default. */
export const SLOW_NS = 500_000_000;

export function makeTraffic(options: TrafficOptions): Request[] {
  const random = mulberry32(options.seed);
  const requests: Request[] = [];
  for (let i = 0; i < options.requests; i++) {
    const arrival = options.startUnixNano + BigInt(Math.round((i / options.arrivalsPerSecond) * 1e9));
    requests.push(makeRequest(random, arrival, i % (options.instances ?? 1)));
  }
  return requests;
}

function makeRequest(random: () => number, arrival: bigint, instance: number): Request {
  const draw = random();
  const fate: Fate = draw < 0.03 ? 'error' : draw < 0.06 ? 'rejected' : draw < 0.1 ? 'slow' : 'fast';
  const traceId = hex(random, 4);
  const ids = Array.from({ length: 5 }, () => hex(random, 2));
  const waitNs = Math.round(fate === 'slow' ? SLOW_NS * (1 + random()) : random() * 20e6);
  const serviceNs = Math.round(5e6 + random() * 30e6);
  const at = (ns: number) => String(arrival + BigInt(ns));
  const statusError = { code: 2, message: fate };
  const rejected = fate === 'rejected';
  const queryStart = 1_000_000 + waitNs;
  const durationNs = rejected ? queryStart + 100_000 : queryStart + serviceNs + 1_000_000;
  const span = (id: string, parent: string, name: string, kind: number, from: number, to: number) => ({
    traceId,
    spanId: id,
    parentSpanId: parent,
    name,
    kind,
    startTimeUnixNano: at(from),
    endTimeUnixNano: at(to),
  });
  const own: OtlpSpan[] = [
    {
      ...span(ids[0], '', 'POST /signup', 2, 0, durationNs),
      attributes: [
        text('http.request.method', 'POST'),
        text('http.route', '/signup'),
        { key: 'http.response.status_code', value: { intValue: rejected ? '503' : '201' } },
        { key: 'waitfall.eventloop.utilization', value: { doubleValue: 0.25 } },
        { key: 'tags', value: { arrayValue: { values: [{ stringValue: 'a' }, { boolValue: true }] } } },
      ],
      events: [{ timeUnixNano: at(500_000), name: 'parsed', attributes: [text('size', 'small')] }],
      status: fate === 'error' || rejected ? statusError : {},
    },
    {
      ...span(ids[1], ids[0], 'wait_for pg-pool:signup', 1, 1_000_000, queryStart),
      attributes: [
        text('waitfall.segment', 'pool_wait'),
        text('waitfall.resource', 'pg-pool:signup'),
        { key: 'waitfall.resource.capacity', value: { intValue: '10' } },
        text('waitfall.outcome', rejected ? 'rejected' : 'acquired'),
        ...(rejected
          ? []
          : [{ key: 'waitfall.hold.duration_ns', value: { intValue: String(serviceNs + 500_000) } }]),
      ],
      status: rejected ? statusError : {},
      links: [
        {
          traceId: hex(random, 4),
          spanId: hex(random, 2),
          attributes: [text('waitfall.link', 'blocked_by')],
        },
      ],
    },
  ];
  const behind: OtlpSpan[] = [];
  if (!rejected) {
    const client = span(ids[2], ids[0], 'POST', 3, queryStart, queryStart + serviceNs);
    own.push({ ...client, attributes: [text('server.address', 'stock')], status: {} });
    const from = queryStart + 1_000_000;
    const to = queryStart + serviceNs - 1_000_000;
    behind.push({ ...span(ids[3], ids[2], 'POST /reserve', 2, from, to), attributes: [], status: {} });
  }
  return { traceId, fate, durationNs, own, behind, instance };
}

export function spanCount(requests: readonly Request[]): number {
  return requests.reduce((sum, request) => sum + request.own.length + request.behind.length, 0);
}

/** One export request of the service that took the requests (`own`) or of the one behind it. */
export function exportRequest(requests: readonly Request[], part: 'own' | 'behind'): object {
  const instances = new Map<number, OtlpSpan[]>();
  for (const request of requests) {
    const spans = instances.get(request.instance) ?? [];
    spans.push(...request[part]);
    instances.set(request.instance, spans);
  }
  return {
    resourceSpans: [...instances]
      .filter(([, spans]) => spans.length > 0)
      .map(([instance, spans]) => ({
        resource: {
          attributes: [
            text('service.name', part === 'own' ? 'signup' : 'stock'),
            text('service.instance.id', `${part}-${instance}`),
          ],
        },
        scopeSpans: [{ scope: { name: '@waitfall/instrumentation', version: '0.1.0' }, spans }],
      })),
  };
}

export interface Sent {
  /** Spans that the collector took. */
  accepted: number;
  /** Spans that it refused and asked to be sent again. */
  refused: number;
  /** Spans whose sending failed: nobody was there, or no answer came. */
  unanswered: number;
}

/** Sends requests as two exporters would, `perBatch` requests a time; never throws for what the receiver does. */
export async function send(to: string, requests: readonly Request[], perBatch = 100): Promise<Sent> {
  const sent: Sent = { accepted: 0, refused: 0, unanswered: 0 };
  for (let i = 0; i < requests.length; i += perBatch) {
    const batch = requests.slice(i, i + perBatch);
    for (const part of ['own', 'behind'] as const) {
      const spans = batch.reduce((sum, request) => sum + request[part].length, 0);
      if (spans > 0) sent[await post(to, exportRequest(batch, part))] += spans;
    }
  }
  return sent;
}

async function post(to: string, body: object): Promise<keyof Sent> {
  try {
    const response = await fetch(`${to}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    await response.arrayBuffer();
    return response.ok ? 'accepted' : 'refused';
  } catch {
    return 'unanswered';
  }
}

function text(key: string, stringValue: string): object {
  return { key, value: { stringValue } };
}

/** `words` times 32 random bits as hex; never all zero. */
function hex(random: () => number, words: number): string {
  return Array.from({ length: words }, () =>
    (Math.floor(random() * 0xffffffff) + 1).toString(16).padStart(8, '0'),
  ).join('');
}

/** Mulberry32: 32-bit generator of a fixed sequence for each seed. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
