import { createWriteStream, existsSync, mkdirSync, renameSync, type WriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { encodeProto, lengthPrefixed } from '../../analyzer/read/proto-oracle.ts';
import { seeded } from '../../analyzer/read/reading.ts';

/** Spans of one exported batch: one line of JSON, one record of protobuf. */
const BATCH_SPANS = 512;

type Attribute = { readonly key: string; readonly value: object };

/**
 * Writes the same spans as OTLP JSON lines and as length-prefixed protobuf: requests of a sign-up service through
 * admission, pool, lock and queries, about 1.1 kB of JSON a span, with ids, addresses and texts of their own, so that
 * interning has as much to do as with a real export. Files that exist are kept.
 */
export async function generate(jsonPath: string, protoPath: string, megabytes: number): Promise<void> {
  if (existsSync(jsonPath) && existsSync(protoPath)) return;
  mkdirSync(dirname(jsonPath), { recursive: true });
  const random = seeded(megabytes);
  const json = createWriteStream(`${jsonPath}.part`);
  const proto = createWriteStream(`${protoPath}.part`);
  let written = 0;
  let second = 0;
  let batch: object[] = [];
  while (written < megabytes * 1e6) {
    batch.push(...trace(random, (second += 0.001)));
    if (batch.length < BATCH_SPANS) continue;
    const request = requestOf(batch);
    batch = [];
    const line = `${JSON.stringify(request)}\n`;
    written += line.length;
    await write(json, line);
    await write(proto, lengthPrefixed(encodeProto('TracesData', request)));
  }
  await Promise.all([end(json), end(proto)]);
  renameSync(`${jsonPath}.part`, jsonPath);
  renameSync(`${protoPath}.part`, protoPath);
}

function requestOf(spans: readonly object[]): object {
  const attributes = [
    text('service.name', 'signup'),
    text('service.instance.id', 'signup-7d9f8-x2x7k'),
    text('host.name', 'node-17'),
    number('process.pid', 4711),
    text('telemetry.sdk.language', 'nodejs'),
  ];
  const scope = { name: '@waitfall/instrumentation', version: '0.1.0' };
  return { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope, spans }] }] };
}

const ROUTES = ['/campaigns/:id/signup', '/campaigns/:id', '/users/:id', '/search', '/users/:id/payments'];
const STATEMENTS = [
  'SELECT id, title, starts_at, capacity FROM campaigns WHERE id = $1 AND withdrawn_at IS NULL',
  'UPDATE campaigns SET taken = taken + 1, changed_at = now() WHERE id = $1 AND taken < capacity RETURNING taken',
  'INSERT INTO signups (campaign_id, user_id, source, created_at) VALUES ($1, $2, $3, now()) RETURNING id',
  'SELECT count(*) FROM signups WHERE campaign_id = $1 AND created_at > now() - make_interval(hours => 1)',
];

/** One request: its root, what it waited for, and its queries; 15 spans on average. */
function trace(random: () => number, startSecond: number): object[] {
  const traceId = hex(random, 32);
  const spans: object[] = [];
  let clockNs = Math.floor(random() * 1e6);
  const time = (ns: number) =>
    String(1_750_000_000_000_000_000n + BigInt(Math.round(startSecond * 1e9)) + BigInt(ns));
  const add = (parent: string, name: string, kind: number, durationNs: number, attributes: Attribute[]) => {
    const spanId = hex(random, 16);
    const start = clockNs;
    clockNs += Math.round(durationNs);
    const times = { startTimeUnixNano: time(start), endTimeUnixNano: time(clockNs) };
    spans.push({
      traceId,
      spanId,
      parentSpanId: parent,
      flags: 257,
      name,
      kind,
      ...times,
      attributes,
      status: {},
    });
    return spanId;
  };
  const route = ROUTES[Math.floor(random() * ROUTES.length)];
  const root = hex(random, 16);
  const begun = clockNs;
  add(
    root,
    'wait_for http.server',
    1,
    random() * 1e6,
    waitAttributes(random, 'admission_wait', 'http.server', 64),
  );
  if (random() < 0.5) {
    add(
      root,
      'wait_for eventloop',
      1,
      random() * 1e6,
      waitAttributes(random, 'eventloop_wait', 'eventloop', 1),
    );
  }
  for (let i = 0; i < 4; i++)
    add(root, `middleware - step ${i}`, 1, random() * 5e4, codeAttributes(random, i));
  add(
    root,
    'wait_for pg-pool:signup',
    1,
    random() * 3e6,
    waitAttributes(random, 'pool_wait', 'pg-pool:signup', 20),
  );
  const queries = 4 + Math.floor(random() * 6);
  for (let i = 0; i < queries; i++) {
    const statement = STATEMENTS[Math.floor(random() * STATEMENTS.length)];
    if (i === 1) {
      add(
        root,
        'wait_for lock:campaigns',
        1,
        random() * 2e6,
        waitAttributes(random, 'lock_wait', 'lock:campaigns', 1),
      );
    }
    add(
      root,
      `pg.query:${statement.slice(0, 6)} signup`,
      3,
      random() * 2e6,
      queryAttributes(random, statement),
    );
  }
  const status = random() < 0.01 ? { code: 2, message: 'sold out' } : {};
  spans.push({
    traceId,
    spanId: root,
    parentSpanId: '',
    flags: 256,
    name: `POST ${route}`,
    kind: 2,
    startTimeUnixNano: time(begun),
    endTimeUnixNano: time(clockNs + 1000),
    attributes: serverAttributes(random, route),
    status,
  });
  return spans;
}

function serverAttributes(random: () => number, route: string): Attribute[] {
  return [
    text('http.request.method', 'POST'),
    text('http.route', route),
    text('url.path', route.replace(':id', String(Math.floor(random() * 100_000)))),
    text('url.query', `utm_source=newsletter&ref=${hex(random, 8)}`),
    text('server.address', 'api.example.test'),
    number('server.port', 3000),
    number('http.response.status_code', 200),
    text('user_agent.original', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'),
    text('client.address', `10.${byte(random)}.${byte(random)}.${byte(random)}`),
    number('network.peer.port', 30_000 + Math.floor(random() * 30_000)),
    text('network.protocol.version', '1.1'),
    text('app.request_id', hex(random, 32)),
  ];
}

function queryAttributes(random: () => number, statement: string): Attribute[] {
  return [
    text('db.system.name', 'postgresql'),
    text('db.namespace', 'signup'),
    text('db.query.text', statement),
    text('db.operation.name', statement.slice(0, 6)),
    text('server.address', 'pg-primary.internal.example.test'),
    number('server.port', 5432),
    text('db.user', 'app'),
    text('network.transport', 'tcp'),
    text('network.peer.address', '10.0.3.17'),
    text('code.function.name', 'runQuery'),
    text('code.file.path', '/srv/app/dist/repositories/campaigns.js'),
    number('code.line.number', 100 + Math.floor(random() * 300)),
  ];
}

function waitAttributes(
  random: () => number,
  segment: string,
  resource: string,
  capacity: number,
): Attribute[] {
  return [
    text('waitfall.segment', segment),
    text('waitfall.resource', resource),
    number('waitfall.resource.capacity', capacity),
    number('waitfall.resource.in_use', Math.floor(random() * capacity)),
    number('waitfall.resource.queue_depth', Math.floor(random() * 40)),
    text('waitfall.outcome', 'acquired'),
    number('waitfall.hold.duration_ns', Math.floor(random() * 1e7)),
    text('code.function.name', 'acquire'),
    text('code.file.path', '/srv/app/node_modules/pool/lib/queue.js'),
    number('thread.id', 1),
    text('app.request_id', hex(random, 32)),
  ];
}

function codeAttributes(random: () => number, step: number): Attribute[] {
  return [
    text('express.name', `step ${step}`),
    text('express.type', 'middleware'),
    text('code.function.name', `step${step}`),
    text('code.file.path', '/srv/app/node_modules/express/lib/router/layer.js'),
    number('code.line.number', 95),
    { key: 'app.cache_hit', value: { boolValue: random() < 0.3 } },
    { key: 'app.ratio', value: { doubleValue: Math.round(random() * 1e4) / 1e4 } },
    text('enduser.id', `u_${hex(random, 16)}`),
    text('app.request_id', hex(random, 32)),
    text('thread.name', 'main'),
    number('thread.id', 1),
  ];
}

function text(key: string, stringValue: string): Attribute {
  return { key, value: { stringValue } };
}

function number(key: string, value: number): Attribute {
  return { key, value: { intValue: String(value) } };
}

function byte(random: () => number): number {
  return Math.floor(random() * 256);
}

function hex(random: () => number, digits: number): string {
  let id = '';
  while (id.length < digits)
    id += Math.floor(random() * 0x100000000)
      .toString(16)
      .padStart(8, '0');
  return id;
}

function write(stream: WriteStream, chunk: string | Buffer): Promise<void> | undefined {
  return stream.write(chunk) ? undefined : new Promise((resolve) => stream.once('drain', resolve));
}

function end(stream: WriteStream): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.once('error', reject);
    stream.end(() => resolve());
  });
}
