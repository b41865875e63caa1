import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { WaitfallInstrumentation, withWait } from '@waitfall/instrumentation';
import { databasePool } from '../../../instrumentation/src/metrics/waits.ts';
import type { Database } from '../../../sample-app/src/postgres/database.ts';
import { assertBetween } from '../support/moments.ts';
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
  test('a pool by the database conventions: times lie between what the caller did and saw', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1, application_name: 'metered' });
    let establishedMs = 0;
    pool.on('connect', () => {
      establishedMs = performance.now();
    });
    // Outside any request: metrics do not depend on a trace.
    const startMs = performance.now();
    const connecting = pool.connect();
    const calledMs = performance.now();
    const held = await connecting;
    const connectedMs = performance.now();
    const waitFromMs = performance.now();
    const waiting = pool.connect();
    const waitCalledMs = performance.now();
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
    const askedMs = performance.now();
    const oldest = (await points('waitfall.hold.oldest')).find(
      (point) => point.attributes['waitfall.resource'] === 'pg-pool:metered',
    );
    assertBetween(
      (oldest?.value as number) * 1e3,
      askedMs - calledMs,
      performance.now() - startMs,
      'the oldest hold',
    );
    const releasingMs = performance.now();
    held.release();
    const second = await waiting;
    const gotMs = performance.now();
    second.release();
    const endMs = performance.now();
    const use = sumOf(of(await points('db.client.connection.use_time')));
    const wait = sumOf(of(await points('db.client.connection.wait_time')));
    const create = sumOf(of(await points('db.client.connection.create_time')));
    assert.equal(use.count, 2);
    assert.equal(wait.count, 2);
    assert.equal(create.count, 1);
    // The slot is taken by the call, before there is a connection in it.
    assertBetween(use.sum * 1e3, releasingMs - calledMs, endMs - startMs, 'use');
    assertBetween(create.sum * 1e3, establishedMs - calledMs, connectedMs - startMs, 'create');
    assertBetween(wait.sum * 1e3, releasingMs - waitCalledMs, gotMs - waitFromMs, 'wait');
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

  test('the event loop: what it was busy and idle is all the time there was', async () => {
    const times = async () =>
      Object.fromEntries(
        (await points('nodejs.eventloop.time')).map((point) => [
          point.attributes['nodejs.eventloop.state'],
          (point.value as number) * 1e3,
        ]),
      );
    const fromMs = performance.now();
    const before = await times();
    const betweenMs = performance.now();
    const busyUntilMs = betweenMs + 60;
    while (performance.now() < busyUntilMs);
    await sleep(40);
    const untilMs = performance.now();
    const after = await times();
    const toMs = performance.now();
    const activeMs = after['active'] - before['active'];
    const idleMs = after['idle'] - before['idle'];
    assertBetween(activeMs, 60, toMs - fromMs, 'busy');
    assertBetween(activeMs + idleMs, untilMs - betweenMs, toMs - fromMs, 'all of it');
    const [utilization] = await points('nodejs.eventloop.utilization');
    assert.ok((utilization.value as number) >= 0 && (utilization.value as number) <= 1);
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
