import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get as httpGet } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Database, openDatabase } from '../../sample-app/src/postgres/database.ts';
import { type SpawnedService, spawnService } from './support/spawned.ts';

let database: Database;
let url: string;

before(async () => {
  database = await openDatabase();
  url = await database.createSchema('shop');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('CREATE TABLE item (id int PRIMARY KEY, sold int NOT NULL DEFAULT 0)');
  await client.query('INSERT INTO item (id) VALUES (1), (2), (3)');
  await client.end();
});
after(() => database?.close());

async function driven(service: SpawnedService): Promise<void> {
  await Promise.all([1, 1, 1, 2].map((id) => fetch(`${service.url}/items/${id}`)));
  await fetch(`${service.url}/count`);
}

for (const [name, flag] of [
  ['imported.mjs', '--import'],
  ['required.cjs', '--import'],
  ['required.cjs', '--require'],
  ['mixed.mjs', '--import'],
] as const) {
  for (const mode of ['standalone', 'sdk']) {
    test(`${flag} instruments ${name} (${mode}): every wait once, below its request`, async () => {
      const service = await spawnService(name, { DATABASE_URL: url, WAITFALL_MODE: mode }, flag);
      await driven(service);
      assert.equal(await service.stop(), 0);
      const spans = service.spans();
      const byId = new Map(spans.map((span) => [span.spanId, span]));
      const roots = spans.filter((span) => span.kind === 2);
      assert.deepEqual(roots.map((root) => root.name).sort(), [
        'GET /count',
        ...Array(4).fill('GET /items/:id'),
      ]);
      for (const span of spans) assert.ok(span.kind === 2 || byId.has(span.parentSpanId ?? ''), span.name);
      for (const root of roots) {
        const below = spans.filter((span) => span.traceId === root.traceId);
        const named = (prefix: string) => below.filter((span) => span.name.startsWith(prefix));
        const statements = root.name === 'GET /count' ? 1 : 4;
        assert.equal(named('pg.query').length, statements, 'one span a query');
        assert.equal(named('wait_for pg-pool:shop').length, 1);
        assert.equal(named('wait_for lock:item').length, statements === 4 ? 1 : 0);
        for (const wait of named('wait_for pg-pool')) {
          const parent = byId.get(wait.parentSpanId ?? '');
          assert.equal(parent?.name, mode === 'sdk' ? 'pg-pool.connect' : root.name);
          assert.ok(Number(wait.attributes['waitfall.hold.duration_ns']) > 0);
        }
        for (const wait of named('wait_for lock')) {
          assert.match(byId.get(wait.parentSpanId ?? '')?.name ?? '', /^pg\.query:UPDATE/);
        }
      }
      assert.equal(service.stderr(), '');
    });
  }
}

test('a client that leaves is said on the server span of the official instrumentation too', async () => {
  const service = await spawnService('required.cjs', { DATABASE_URL: url, WAITFALL_MODE: 'sdk' });
  const blocker = new pg.Client({ connectionString: url });
  await blocker.connect();
  await blocker.query('BEGIN');
  await blocker.query('UPDATE item SET sold = sold WHERE id = 3');
  const request = httpGet(`${service.url}/items/3`);
  request.on('error', () => {});
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'shop' AND wait_event_type = 'Lock'`;
  // On a connection of its own: within a transaction PostgreSQL repeats its first answer.
  const watcher = new pg.Client({ connectionString: url });
  await watcher.connect();
  const deadline = Date.now() + 30_000;
  while ((await watcher.query(waiting)).rowCount === 0 && Date.now() < deadline) await sleep(10);
  await watcher.end();
  request.destroy();
  await sleep(50);
  await blocker.query('COMMIT');
  await blocker.end();
  await fetch(`${service.url}/items/1`);
  await service.stop();
  const roots = service.spans().filter((span) => span.kind === 2);
  const reasons = roots.map((root) => `${root.attributes['url.path']} ${root.attributes['error.type']}`);
  assert.deepEqual(reasons.sort(), ['/items/1 undefined', '/items/3 client_closed']);
});

test('a setting that only the SDK understands is followed', async () => {
  const service = await spawnService('required.cjs', {
    DATABASE_URL: url,
    OTEL_NODE_RESOURCE_DETECTORS: 'env,host',
  });
  await driven(service);
  await service.stop();
  assert.ok(service.spans().some((span) => span.scope === '@opentelemetry/instrumentation-http'));
});

test('the export is valid OTLP/JSON', async () => {
  const service = await spawnService('imported.mjs', { DATABASE_URL: url });
  await driven(service);
  await service.stop();
  let spans = 0;
  for (const line of service.lines()) {
    const request = JSON.parse(line);
    assert.deepEqual(Object.keys(request), ['resourceSpans']);
    for (const { resource, scopeSpans } of request.resourceSpans) {
      const attributes = new Map(
        resource.attributes.map((a: { key: string; value: object }) => [a.key, a.value]),
      );
      assert.deepEqual(attributes.get('service.name'), { stringValue: 'shop' });
      for (const key of ['service.instance.id', 'host.name', 'process.pid'])
        assert.ok(attributes.has(key), key);
      for (const span of scopeSpans.flatMap((scope: { spans: object[] }) => scope.spans)) {
        spans++;
        assert.match(span.traceId, /^[0-9a-f]{32}$/);
        assert.match(span.spanId, /^[0-9a-f]{16}$/);
        assert.match(span.startTimeUnixNano, /^\d{19}$/);
        assert.match(span.endTimeUnixNano, /^\d{19}$/);
        assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
        assert.ok(Number.isInteger(span.kind) && span.kind >= 1 && span.kind <= 5);
        assert.ok(span.status.code === undefined || Number.isInteger(span.status.code));
        for (const { key, value } of span.attributes) {
          assert.equal(Object.keys(value).length, 1, key);
          if ('intValue' in value) assert.match(value.intValue, /^-?\d+$/);
        }
      }
    }
  }
  assert.ok(spans > 20);
});

test('children lie inside their parents: every span has a start in ns', async () => {
  const service = await spawnService('required.cjs', { DATABASE_URL: url });
  await driven(service);
  await service.stop();
  const spans = service.spans();
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const outsideNs = spans.flatMap((span) => {
    const parent = byId.get(span.parentSpanId ?? '');
    if (parent === undefined) return [];
    return [Number(BigInt(parent.startTimeUnixNano) - BigInt(span.startTimeUnixNano))];
  });
  // Two readings of the clock within one call may be this far apart on a busy machine, but not a millisecond.
  assert.ok(
    outsideNs.every((ns) => ns < 500_000),
    String(Math.max(...outsideNs)),
  );
  assert.ok(spans.some((span) => !span.startTimeUnixNano.endsWith('000000')));
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} ends the service as it would without us, and writes what was recorded`, async () => {
    const service = await spawnService('required.cjs', { DATABASE_URL: url });
    await driven(service);
    const ended = once(service.process, 'exit');
    service.process.kill(signal);
    assert.deepEqual(await ended, [null, signal]);
    assert.equal(service.spans().filter((span) => span.kind === 2).length, 5);
  });
}

test('a trace file that cannot be written is said once and disturbs nothing', async () => {
  const service = await spawnService('required.cjs', {
    DATABASE_URL: url,
    WAITFALL_TRACE_FILE: '/nonexistent/t.jsonl',
  });
  for (let i = 0; i < 3; i++) {
    assert.equal((await fetch(`${service.url}/count`)).status, 200);
    await sleep(250);
  }
  assert.equal(await service.stop(), 0);
  assert.equal(service.stderr().match(/cannot write/g)?.length, 1);
});

for (const [name, value] of [
  ['WAITFALL_ENABLED', 'false'],
  ['OTEL_SDK_DISABLED', 'true'],
  ['OTEL_NODE_DISABLED_INSTRUMENTATIONS', 'fs, waitfall'],
]) {
  test(`${name}=${value} leaves the service alone`, async () => {
    const service = await spawnService('required.cjs', { DATABASE_URL: url, [name]: value });
    assert.equal((await fetch(`${service.url}/count`)).status, 200);
    assert.equal(await service.stop(), 0);
    assert.throws(() => service.lines(), /ENOENT/);
  });
}
