import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { admission, fastifyAdmission, koaAdmission, namePool } from '@waitfall/instrumentation';
import type Postgres from 'postgres';
import { openSlots } from '../../../instrumentation/src/adapters/slot-wait.ts';
import { openHolds } from '../../../instrumentation/src/pg/pool-wait.ts';
import { type Database, openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { type Recorded, type Recording, startRecording } from '../support/recording.ts';
import { attribute } from './measured.ts';

const require = createRequire(import.meta.url);
let recording: Recording;
let database: Database;
let stores: Stores;

interface Stores {
  readonly pg: InstanceType<typeof import('pg').Pool>;
  // biome-ignore lint/suspicious/noExplicitAny: knex has no types of its own that fit require
  readonly knex: any;
  readonly printers: import('generic-pool').Pool<object>;
  readonly sql: Postgres.Sql;
}

before(async () => {
  recording = startRecording({ official: false, http: true });
  database = await openDatabase();
  const { Pool } = require('pg');
  const printers = require('generic-pool').createPool(
    { create: async () => ({}), destroy: async () => {} },
    { max: 1 },
  );
  namePool(printers, 'printers');
  const url = database.url;
  stores = {
    pg: new Pool({ connectionString: url, max: 2, application_name: 'orders' }),
    knex: require('knex')({
      client: 'pg',
      connection: { connectionString: url, application_name: 'reports' },
      pool: { min: 0, max: 2 },
    }),
    printers,
    sql: require('postgres')(url, { max: 1, fetch_types: false, connection: { application_name: 'search' } }),
  };
  await work();
});
after(async () => {
  await stores?.pg.end();
  await stores?.knex.destroy();
  await stores?.printers.drain();
  await stores?.sql.end();
  await database?.close();
  await recording?.stop();
});
beforeEach(() => recording.clear());

/** Opens when the four requests of a test are in: before, none is answered. */
let allHere: Promise<unknown> = Promise.resolve();

function untilRequests(server: Server, count: number): Promise<void> {
  return new Promise((resolve) => {
    let seen = 0;
    server.on('request', () => {
      if (++seen === count) resolve();
    });
  });
}

/** What every service does in a request: one thing after another, with each kind of pool. */
async function work(): Promise<object> {
  await allHere;
  const { rows } = await stores.pg.query('SELECT 1 AS pg');
  const [{ knex }] = (await stores.knex.raw('SELECT 2 AS knex')).rows;
  const printer = await stores.printers.acquire();
  await sleep(20);
  await stores.printers.release(printer);
  const [{ sql }] = await stores.sql`SELECT 3 AS sql`;
  return { ...rows[0], knex, sql };
}

interface Service {
  readonly url: string;
  stop(): Promise<unknown>;
}

async function listen(server: Server): Promise<Service> {
  if (!server.listening) await once(server, 'listening');
  allHere = untilRequests(server, 4);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/orders`,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

const limits = { maxConcurrent: 2, maxQueue: 10 };

const SERVICES: Record<string, () => Promise<Service>> = {
  express: () => {
    const app = require('express')();
    app.use(admission(limits));
    app.get('/orders', async (_request: unknown, response: { json(body: object): void }) =>
      response.json(await work()),
    );
    return listen(app.listen(0, '127.0.0.1'));
  },
  fastify: async () => {
    const app = require('fastify')();
    app.addHook('onRequest', fastifyAdmission(limits));
    app.get('/orders', work);
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { url } = await listen(app.server);
    return { url, stop: () => app.close() };
  },
  koa: () => {
    const Koa = require('koa');
    const app = new Koa();
    app.use(koaAdmission(limits));
    app.use(async (ctx: { body: unknown }) => {
      ctx.body = await work();
    });
    return listen(app.listen(0, '127.0.0.1'));
  },
};

const EXPECTED = [
  ['admission_wait', 'http.server'],
  ['pool_wait', 'pg-pool:orders'],
  ['pool_wait', 'knex-pool:reports'],
  ['pool_wait', 'generic-pool:printers'],
  ['pool_wait', 'postgres-pool:search'],
] as const;

for (const [name, start] of Object.entries(SERVICES)) {
  test(`${name}: admission, pg and the adapters are in the request's trace, and within its time`, async () => {
    const service = await start();
    const latencies = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const startedMs = performance.now();
        const response = await fetch(service.url);
        assert.deepEqual(await response.json(), { pg: 1, knex: 2, sql: 3 });
        return performance.now() - startedMs;
      }),
    );
    await service.stop();
    assert.equal(openSlots(), 0);
    assert.equal(openHolds(), 0);
    const roots = recording.spans().filter((span) => span.parentId === undefined && /^GET/.test(span.name));
    assert.equal(roots.length, 4);
    const longest = Math.max(...latencies);
    for (const root of roots) {
      const spans = recording.spans().filter((span) => span.traceId === root.traceId);
      for (const [segment, resource] of EXPECTED) {
        const found = spans.filter(
          (span) => attribute(span, 'segment') === segment && attribute(span, 'resource') === resource,
        );
        assert.equal(found.length, 1, `${segment} ${resource}`);
        assert.ok(found[0].startMs >= root.startMs - 1 && found[0].endMs <= root.endMs + 1, resource);
      }
      const waits = spans.filter((span) => /_wait$/.test(String(attribute(span, 'segment'))));
      const waitedMs = waits.reduce((sum, wait) => sum + wait.lengthMs, 0);
      assert.ok(waitedMs <= root.lengthMs + 1, `${waitedMs} ms of ${root.lengthMs} ms`);
      assert.ok(root.lengthMs <= longest + 5, `${root.lengthMs} ms, the client saw ${longest} ms at most`);
      const counted = ((root.attributes['waitfall.time.pool_wait_ns'] as number | undefined) ?? 0) / 1e6;
      assert.ok(Math.abs(counted - sum(waits, 'pool_wait')) < 2, `${counted} ms on the root span`);
    }
    // Two slots: the third and the fourth wait at least for one printer's 20 ms.
    const admitted = recording
      .segment('admission_wait')
      .map((span) => span.lengthMs)
      .sort((a, b) => a - b);
    assert.ok(admitted[2] >= 15, `${admitted} ms`);
  });
}

function sum(spans: readonly Recorded[], segment: string): number {
  return spans
    .filter((span) => attribute(span, 'segment') === segment)
    .reduce((total, span) => total + span.lengthMs, 0);
}
