import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { WaitfallInstrumentation, withWait } from '@waitfall/instrumentation';
import { databasePool } from '../../../instrumentation/src/metrics/waits.ts';
import type { Database } from '../../../sample-app/src/postgres/database.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';

/** Collects when it is asked. */
class Reader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

interface Point {
  attributes: Record<string, unknown>;
  value: number | { count: number; sum: number };
}

const reader = new Reader();
let recording: Recording;
let database: Database;
let pg: typeof import('pg');

before(async () => {
  recording = startRecording({ official: false });
  registerInstrumentations({
    instrumentations: [new WaitfallInstrumentation()],
    meterProvider: new MeterProvider({ readers: [reader] }),
  });
  pg = createRequire(import.meta.url)('pg');
  const { openDatabase } = await import('../../../sample-app/src/postgres/database.ts');
  database = await openDatabase();
  // The part is loaded when a provider is there.
  await sleep(200);
});
after(async () => {
  await database?.close();
  await recording.stop();
});

async function points(name: string): Promise<Point[]> {
  const { resourceMetrics } = await reader.collect();
  return resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
    metrics
      .filter((metric) => metric.descriptor.name === name)
      .flatMap((metric) => metric.dataPoints as Point[]),
  );
}

const sumOf = (point: Point | undefined) => point?.value as { count: number; sum: number };

describe('metrics', () => {
  test('a pool by the database conventions: times agree with the caller’s clock', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1, application_name: 'metered' });
    const startMs = performance.now();
    // Outside any request: metrics do not depend on a trace.
    const held = await pool.connect();
    const connectedMs = performance.now() - startMs;
    const waiting = pool.connect();
    await sleep(60);
    const mine = { 'db.client.connection.pool.name': 'metered' };
    const of = (list: Point[], extra: Record<string, unknown> = {}) =>
      list.find((point) =>
        Object.entries({ ...mine, ...extra }).every(([key, value]) => point.attributes[key] === value),
      );
    const state = 'db.client.connection.state';
    const count = await points('db.client.connection.count');
    assert.equal(of(count, { [state]: 'used' })?.value, 1);
    assert.equal(of(count, { [state]: 'idle' })?.value, 0);
    assert.equal(of(await points('db.client.connection.max'))?.value, 1);
    assert.equal(of(await points('db.client.connection.pending_requests'))?.value, 1);
    const open = await points('waitfall.hold.open');
    assert.equal(open.find((point) => point.attributes['waitfall.resource'] === 'pg-pool:metered')?.value, 1);
    const heldMs = performance.now() - startMs;
    held.release();
    (await waiting).release();
    const use = sumOf(of(await points('db.client.connection.use_time')));
    const wait = sumOf(of(await points('db.client.connection.wait_time')));
    const create = sumOf(of(await points('db.client.connection.create_time')));
    assert.equal(use.count, 2);
    assert.equal(wait.count, 2);
    assert.equal(create.count, 1);
    assert.ok(Math.abs(use.sum * 1e3 - heldMs) < 25, `${use.sum * 1e3} of ${heldMs} ms`);
    assert.ok(Math.abs(create.sum * 1e3 - connectedMs) < 25, `${create.sum * 1e3} of ${connectedMs} ms`);
    assert.ok(wait.sum * 1e3 >= 55 && wait.sum * 1e3 <= heldMs + 25, `${wait.sum * 1e3} ms`);
    await pool.end();
  });

  test('a timeout is counted', async () => {
    const pool = new pg.Pool({
      connectionString: database.url,
      max: 1,
      application_name: 'impatient',
      connectionTimeoutMillis: 400,
    });
    const held = await pool.connect();
    await assert.rejects(pool.connect());
    held.release();
    await pool.end();
    const [timeouts] = (await points('db.client.connection.timeouts')).filter(
      (point) => point.attributes['db.client.connection.pool.name'] === 'impatient',
    );
    assert.equal(timeouts.value, 1);
  });

  test('every wait counts, below the shortest span too', async () => {
    await request(() => withWait('tap', () => sleep(25)));
    await request(() => withWait('tap', () => {}));
    const wait = (await points('waitfall.wait.duration')).find(
      (point) => point.attributes['waitfall.resource'] === 'tap',
    );
    assert.equal(wait?.attributes['waitfall.segment'], 'pool_wait');
    assert.equal(sumOf(wait).count, 2);
    assert.ok(sumOf(wait).sum >= 0.024);
  });

  test('the event loop', async () => {
    const [utilization] = await points('nodejs.eventloop.utilization');
    assert.ok((utilization.value as number) >= 0 && (utilization.value as number) <= 1);
    assert.equal((await points('nodejs.eventloop.time')).length, 2);
  });

  test('pools of databases are told from those of sockets', () => {
    assert.equal(databasePool('pg-pool:signup'), 'signup');
    assert.equal(databasePool('mysql2-pool:shop'), 'shop');
    assert.equal(databasePool('tarn-pool'), 'tarn-pool');
    assert.equal(databasePool('generic-pool#2'), 'generic-pool#2');
    assert.equal(databasePool('http-agent:host:80'), undefined);
    assert.equal(databasePool('undici-pool:host:80'), undefined);
    assert.equal(databasePool('printer'), undefined);
  });
});
