import type { Random } from '../../sim/random.ts';
import { EPOCH } from './otlp.ts';

const SEGMENTS = [
  'admission_wait',
  'eventloop_wait',
  'pool_wait',
  'connection_wait',
  'lock_wait',
  'runtime_pause',
  'generator_wait',
  'work',
  'downstream',
  'network',
  'hold',
  'nonsense',
];
const RESOURCES = [
  'http.server',
  'eventloop',
  'pg-pool:a',
  'connect:pg-pool:a',
  'lock:c',
  'http-agent:x:1',
  '',
];
const NAMES = [
  'GET',
  'pg.query:UPDATE',
  'pg-pool.connect',
  'pg.connect',
  'BEGIN',
  'COMMIT',
  'x'.repeat(120),
  '',
];
const HOLDS = [
  { intValue: '5000000' },
  { intValue: '-5' },
  { stringValue: 'long' },
  { doubleValue: 1.5 },
  { intValue: '9223372036854775807' },
];
const CAPACITIES = [{ intValue: '1' }, { intValue: '10' }, { intValue: '0' }, { doubleValue: 0.5 }];

/** @returns an OTLP document nobody would write: wrong trees, odd values, absurd numbers. */
export function randomDocument(random: Random): string {
  const chance = (p: number) => random.chance(p);
  const below = (n: number) => random.below(Math.max(1, Math.floor(n)));
  const spread = random.pick([1e6, 1e9, 6e10]);
  const spans: unknown[] = [];
  for (let t = 0; t < below(chance(0.3) ? 120 : 12); t++) {
    const at = below(spread);
    const length = below(random.pick([1, 1e6, 1e8, 5e9]));
    for (let i = 0; i <= below(12); i++) {
      const start = i === 0 ? at : at + below(length);
      const end = i === 0 ? at + length : start + below(length * random.pick([0.3, 1, 1.2]));
      const parent = 1 + below(chance(0.05) ? 200 : i);
      spans.push({
        traceId: hex(t + 1, 32),
        spanId: hex(t * 100 + i + 1, 16),
        ...(i === 0 ? {} : { parentSpanId: hex(t * 100 + parent, 16) }),
        name: random.pick(NAMES),
        kind: below(6),
        startTimeUnixNano: String(EPOCH + BigInt(start)),
        endTimeUnixNano: String(EPOCH + BigInt(chance(0.01) ? 0 : end)),
        attributes: attributesOf(random),
        status: { code: random.pick([0, 0, 0, 1, 2]) },
        ...(chance(0.1) ? { traceState: random.pick(['ot=th:8', 'ot=th:zz', 'x=y']) } : {}),
      });
    }
  }
  const resource = [
    { key: 'service.name', value: { stringValue: random.pick(['shop', 'web']) } },
    { key: 'service.instance.id', value: { stringValue: random.pick(['1', '2']) } },
  ];
  const scope = { name: random.pick(['@waitfall/instrumentation', 'other']) };
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ scope, spans }] }],
  });
}

/** @returns a load plan that need not fit the traces. */
export function randomPlan(random: Random): string {
  let at = EPOCH;
  const steps = Array.from({ length: 1 + random.below(5) }, () => {
    const startUnixNano = at;
    at += BigInt(1 + random.below(20_000_000_000));
    return {
      startUnixNano: String(startUnixNano),
      endUnixNano: String(at),
      arrivalsPerSecond: random.pick([0, 1, 10, 1e6]),
      phase: random.pick(['ramp', 'recovery', 'overload', 'warmup', null]),
    };
  });
  return JSON.stringify({ steps });
}

function attributesOf(random: Random): { key: string; value: unknown }[] {
  const out: { key: string; value: unknown }[] = [];
  const put = (p: number, key: string, value: unknown) => {
    if (random.chance(p)) out.push({ key, value });
  };
  if (random.chance(0.6)) {
    put(1, 'waitfall.segment', { stringValue: random.pick(SEGMENTS) });
    put(0.9, 'waitfall.resource', { stringValue: random.pick(RESOURCES) });
    put(0.7, 'waitfall.outcome', {
      stringValue: random.pick(['acquired', 'rejected', 'timeout', 'aborted', '?']),
    });
    put(0.5, 'waitfall.hold.duration_ns', random.pick(HOLDS));
    put(0.5, 'waitfall.resource.capacity', random.pick(CAPACITIES));
    put(0.3, 'waitfall.resource.queue_depth', { intValue: String(random.below(9)) });
    put(0.3, 'waitfall.resource.in_use', { intValue: String(random.below(30)) });
    put(0.3, 'waitfall.lock.key', { stringValue: random.pick(['k1', 'k2']) });
  }
  put(0.3, 'http.route', { stringValue: random.pick(['/a', '/b']) });
  put(0.3, 'http.response.status_code', { intValue: random.pick(['200', '500', '503', '504', '429', '0']) });
  if (random.chance(0.3)) {
    put(1, 'db.system.name', { stringValue: 'postgresql' });
    put(1, 'server.address', { stringValue: random.pick(['db', 'replica']) });
    put(1, 'db.query.text', { stringValue: random.pick(['UPDATE t SET x', 'SELECT 1', 'COMMIT', 'BEGIN']) });
  }
  return out;
}

function hex(n: number, digits: number): string {
  return n.toString(16).padStart(digits, '0');
}
