import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { namePool, WaitfallInstrumentation } from '@waitfall/instrumentation';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { missing, startMariadb, type TestServer } from '../adapters/servers.ts';
import { type Recording, startRecording } from '../support/recording.ts';

/** Collects when it is asked. */
class Reader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

const require = createRequire(import.meta.url);
const reader = new Reader();
const CONNECTION = 'db.client.connection';
let recording: Recording;

before(async () => {
  recording = startRecording({ official: false });
  registerInstrumentations({
    instrumentations: [new WaitfallInstrumentation()],
    meterProvider: new MeterProvider({ readers: [reader] }),
  });
  // The part is loaded when a provider is there.
  await sleep(200);
});
after(() => recording.stop());

/** Every value of one pool, by metric and, where there is one, state. */
async function metricsOf(pool: string): Promise<Record<string, unknown>> {
  const { resourceMetrics } = await reader.collect();
  const found: Record<string, unknown> = {};
  for (const { descriptor, dataPoints } of resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)) {
    for (const { attributes, value } of dataPoints) {
      if (attributes[`${CONNECTION}.pool.name`] !== pool) continue;
      const state = attributes[`${CONNECTION}.state`];
      const name = descriptor.name.replace(`${CONNECTION}.`, '');
      assert.ok(!(`${name} ${state}` in found), `${descriptor.name} of ${pool} is emitted once`);
      found[state === undefined ? name : `${name} ${state}`] = value;
    }
  }
  return found;
}

const openOf = async (resource: string): Promise<unknown> => {
  const { resourceMetrics } = await reader.collect();
  return resourceMetrics.scopeMetrics
    .flatMap(({ metrics }) => metrics)
    .find(({ descriptor }) => descriptor.name === 'waitfall.hold.open')
    ?.dataPoints.find(({ attributes }) => attributes['waitfall.resource'] === resource)?.value;
};

interface OnePool {
  /** Takes something. @returns what gives it back. */
  take(): Promise<() => unknown>;
  close(): Promise<unknown>;
}

/** A pool of two, whose things take a moment to be made. */
const LIBRARIES: Record<string, () => OnePool> = {
  tarn: () => {
    const { Pool } = require('tarn');
    const pool = new Pool({ create: slow, destroy: () => {}, min: 0, max: 2 });
    namePool(pool, 'tarn-metered');
    return {
      async take() {
        const item = await pool.acquire().promise;
        return () => pool.release(item);
      },
      close: () => pool.destroy(),
    };
  },
  'sequelize-pool': () => {
    const { Pool } = require('sequelize-pool');
    const pool = new Pool({ create: slow, destroy: () => {}, validate: () => true, min: 0, max: 2 });
    namePool(pool, 'sequelize-metered');
    return {
      async take() {
        const item = await pool.acquire();
        return () => pool.release(item);
      },
      close: () => pool.drain(),
    };
  },
  'generic-pool': () => {
    const { createPool } = require('generic-pool');
    const pool = createPool({ create: slow, destroy: async () => {} }, { min: 0, max: 2 });
    namePool(pool, 'generic-metered');
    return {
      async take() {
        const item = await pool.acquire();
        return () => pool.release(item);
      },
      close: () => pool.drain().then(() => pool.clear()),
    };
  },
};

async function slow(): Promise<object> {
  await sleep(10);
  return {};
}

/** Two take all there is, a third waits; what the pool counts must be what the metrics say. */
async function judge(pool: OnePool, name: string, resource: string): Promise<void> {
  const give = await Promise.all([pool.take(), pool.take()]);
  const waiting = pool.take();
  await sleep(30);
  const full = await metricsOf(name);
  assert.equal(full['max'], 2);
  assert.equal(full['count used'], 2);
  assert.equal(full['pending_requests'], 1);
  if ('count idle' in full) assert.equal(full['count idle'], 0);
  assert.equal(await openOf(resource), 2);
  await give[0]();
  await (await waiting)();
  await give[1]();
  await sleep(20);
  const idle = await metricsOf(name);
  assert.equal(idle['count used'], 0);
  assert.equal(idle['pending_requests'], 0);
  if ('count idle' in idle) assert.ok((idle['count idle'] as number) >= 1);
  assert.equal((idle['wait_time'] as { count: number }).count, 3);
  assert.equal((idle['use_time'] as { count: number }).count, 3);
  assert.ok((idle['wait_time'] as { sum: number }).sum >= 0.025);
  assert.equal(await openOf(resource), 0);
}

describe('pools of other libraries, by the database conventions', () => {
  for (const [name, make] of Object.entries(LIBRARIES)) {
    test(name, async () => {
      const pool = make();
      const metered = `${name.replace('-pool', '')}-metered`;
      try {
        await judge(pool, metered, `${name.replace('-pool', '')}-pool:${metered}`);
      } finally {
        await pool.close();
      }
      assert.equal((await metricsOf(metered))['max'], 0, 'a pool that has ended has nothing');
    });
  }

  test('postgres', async () => {
    const database: Database = await openDatabase();
    const sql = require('postgres')(database.url, { max: 2 });
    namePool(sql, 'postgres-metered');
    const pool: OnePool = {
      async take() {
        const reserved = await sql.reserve();
        return () => reserved.release();
      },
      close: () => sql.end(),
    };
    try {
      await judge(pool, 'postgres-metered', 'postgres-pool:postgres-metered');
    } finally {
      await pool.close();
      await database.close();
    }
  });

  test('mysql2', { skip: missing('mariadbd') }, async () => {
    const server: TestServer = await startMariadb();
    const own = require('mysql2/promise').createPool({
      host: '127.0.0.1',
      port: server.port,
      user: 'root',
      connectionLimit: 2,
    });
    namePool(own, 'mysql2-metered');
    const pool: OnePool = {
      async take() {
        const connection = await own.getConnection();
        return () => connection.release();
      },
      close: () => own.end(),
    };
    try {
      await judge(pool, 'mysql2-metered', 'mysql2-pool:mysql2-metered');
    } finally {
      await pool.close();
      await server.close();
    }
  });
});
