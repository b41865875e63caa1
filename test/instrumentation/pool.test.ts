import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openHolds } from '../../instrumentation/src/pg/pool-wait.ts';
import type { Database } from '../../sample-app/src/postgres/database.ts';
import { type Recorded, type Recording, request, startRecording } from './support/recording.ts';

let recording: Recording;
let database: Database;
let pg: typeof import('pg');

before(async () => {
  recording = startRecording();
  pg = createRequire(import.meta.url)('pg');
  const { openDatabase } = await import('../../sample-app/src/postgres/database.ts');
  database = await openDatabase();
  // The first use of everything is slow, and between what is recorded and what a test sees around it.
  const warm = newPool({ max: 1 });
  await request(() => warm.query('SELECT 1'));
  await warm.end();
});
after(async () => {
  await database?.close();
  await recording?.stop();
});
beforeEach(() => recording.clear());

function newPool(options: object): InstanceType<typeof pg.Pool> {
  const pool = new pg.Pool({ connectionString: database.url, ...options });
  // A test that fails leaves its pool open when the server stops: that must not hide why it failed.
  pool.on('error', () => {});
  return pool;
}

function one(segment: string, traceId: string): Recorded {
  const found = recording.segment(segment).filter((span) => span.traceId === traceId);
  assert.equal(found.length, 1, `${segment} of ${traceId}`);
  return found[0];
}

const holdMs = (span: Recorded) => (span.attributes['waitfall.hold.duration_ns'] as number) / 1e6;

/** A recorded interval may differ from what the test saw around it by what the event loop needed. */
function assertMeasured(recordedMs: number, aroundMs: number, what: string): void {
  assert.ok(recordedMs <= aroundMs + 20, `${what}: ${recordedMs} ms recorded, ${aroundMs} ms around it`);
  assert.ok(recordedMs >= aroundMs - 40, `${what}: ${recordedMs} ms recorded of ${aroundMs} ms`);
}

test('four transactions of 50 ms over two connections agree with an independent measurement', async () => {
  const pool = newPool({ max: 2, application_name: 'signup' });
  const measured = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const times = { called: 0, got: 0, released: 0 };
      const { traceId } = await request(async () => {
        times.called = performance.now();
        const client = await pool.connect();
        times.got = performance.now();
        await client.query('BEGIN');
        await client.query('SELECT pg_sleep(0.05)');
        await client.query('COMMIT');
        client.release();
        times.released = performance.now();
      });
      return { traceId, ...times };
    }),
  );
  await pool.end();
  assert.equal(openHolds(), 0);
  const connections = recording.segment('connection_wait');
  assert.equal(connections.length, 2);
  for (const [index, { traceId, called, got, released }] of measured.entries()) {
    const wait = one('pool_wait', traceId);
    assert.equal(wait.name, 'wait_for pg-pool:signup');
    assert.equal(wait.attributes['waitfall.resource'], 'pg-pool:signup');
    assert.equal(wait.attributes['waitfall.resource.capacity'], 2);
    assert.equal(wait.attributes['waitfall.resource.in_use'], Math.min(index, 2));
    assert.equal(wait.attributes['waitfall.resource.queue_depth'], Math.max(0, index - 2));
    assert.equal(wait.attributes['waitfall.outcome'], 'acquired');
    if (index < 2) {
      // The slot is taken before the connection is established: the hold covers both.
      assert.equal(wait.lengthMs, 0);
      const connection = one('connection_wait', traceId);
      assert.equal(connection.attributes['waitfall.resource'], 'connect:pg-pool:signup');
      assertMeasured(connection.lengthMs, got - called, 'connection_wait');
      assertMeasured(holdMs(wait), released - called, 'hold');
    } else {
      assertMeasured(wait.lengthMs, got - called, 'pool_wait');
      assertMeasured(holdMs(wait), released - got, 'hold');
      assert.ok(wait.lengthMs > 50, 'waited for a whole transaction');
    }
  }
  const [first, second] = measured.slice(2).map(({ traceId }) => one('pool_wait', traceId));
  assert.ok(first.endMs <= second.endMs, 'first come, first served');
});

test('a query that waited is in the trace of its caller, not of the one who released', async () => {
  const pool = newPool({ max: 1, database: 'postgres', application_name: 'parents' });
  const styles: Record<string, () => Promise<unknown>> = {
    promise: async () => {
      const client = await pool.connect();
      await client.query('SELECT 1');
      await sleep(5);
      client.release();
    },
    callback: () =>
      new Promise<void>((resolve, reject) => {
        pool.connect((error, client, release) => {
          if (error || !client) return reject(error);
          client.query('SELECT 1', (failed) => {
            release();
            failed ? reject(failed) : resolve();
          });
        });
      }),
    'pool.query': () => pool.query('SELECT 1'),
    'pool.query with callback': () =>
      new Promise((resolve, reject) => {
        pool.query('SELECT 1', (error: Error, result: unknown) => (error ? reject(error) : resolve(result)));
      }),
  };
  const traces = await Promise.all(Object.values(styles).map((run) => request(run)));
  await pool.end();
  for (const [index, style] of Object.keys(styles).entries()) {
    const spans = recording.spans().filter((span) => span.traceId === traces[index].traceId);
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    assert.equal(spans.filter((span) => span.name.startsWith('pg.query')).length, 1, style);
    const wait = one('pool_wait', traces[index].traceId);
    assert.equal(byId.get(wait.parentId ?? '')?.name, 'pg-pool.connect', style);
    for (const span of spans) assert.ok(span.name === 'request' || byId.has(span.parentId ?? ''), style);
  }
});

test('a wait that ends by the pool timeout is a timeout, and nothing stays open', async () => {
  const pool = newPool({ max: 1, connectionTimeoutMillis: 200, application_name: 'timeouts' });
  const holder = await request(() => pool.connect());
  const waiter = await request(() => pool.connect().catch((error: Error) => error));
  assert.match((waiter.value as Error).message, /timeout/);
  holder.value.release();
  await pool.end();
  const wait = one('pool_wait', waiter.traceId);
  assert.equal(wait.attributes['waitfall.outcome'], 'timeout');
  assert.equal(wait.attributes['error.type'], 'timeout');
  assert.equal(wait.failed, true);
  assert.equal(wait.attributes['waitfall.hold.duration_ns'], undefined);
  assert.ok(wait.lengthMs > 150);
  assert.equal(openHolds(), 0);
});

test('a server that never answers is a connection timeout, and its slot was held', async () => {
  const blackHole = createServer(() => {});
  await new Promise<void>((resolve) => blackHole.listen(0, '127.0.0.1', resolve));
  const { port } = blackHole.address() as { port: number };
  const pool = new pg.Pool({
    host: '127.0.0.1',
    port,
    max: 1,
    connectionTimeoutMillis: 100,
    database: 'hole',
  });
  const { traceId } = await request(() => pool.connect().catch((error: Error) => error));
  await pool.end();
  blackHole.close();
  const connection = one('connection_wait', traceId);
  assert.equal(connection.attributes['waitfall.outcome'], 'timeout');
  assert.equal(connection.attributes['waitfall.resource'], 'connect:pg-pool:hole');
  const wait = one('pool_wait', traceId);
  assert.equal(wait.attributes['waitfall.outcome'], 'acquired');
  assert.ok(Math.abs(holdMs(wait) - connection.lengthMs) < 0.001);
});

test('a refused connection is rejected with its error code', async () => {
  const pool = new pg.Pool({ host: '127.0.0.1', port: 1, max: 1, database: 'refused' });
  const { traceId, value } = await request(() =>
    pool.connect().catch((error: NodeJS.ErrnoException) => error),
  );
  assert.equal((value as NodeJS.ErrnoException).code, 'ECONNREFUSED');
  const connection = one('connection_wait', traceId);
  assert.equal(connection.attributes['waitfall.outcome'], 'rejected');
  assert.equal(connection.attributes['error.type'], 'ECONNREFUSED');
  await pool.end();
});

test('a waiter that pool.end() leaves hanging is aborted', async () => {
  const pool = newPool({ max: 1, application_name: 'ended' });
  const holder = await request(() => pool.connect());
  let waiterTrace = '';
  void request(async (context) => {
    waiterTrace = (await import('@opentelemetry/api')).trace.getSpanContext(context)!.traceId;
    await pool.connect();
  });
  await sleep(30);
  const ended = pool.end();
  holder.value.release();
  await ended;
  assert.equal(one('pool_wait', waiterTrace).attributes['waitfall.outcome'], 'aborted');
  assert.equal(one('pool_wait', waiterTrace).failed, false);
  assert.equal(openHolds(), 0);
});

test('a client released with an error, or whose backend died, was held once', async () => {
  const pool = newPool({ max: 1, application_name: 'broken' });
  const thrown = await request(async () => {
    const client = await pool.connect();
    client.release(new Error('broken'));
  });
  const killed = await request(async () => {
    const client = await pool.connect();
    client.on('error', () => {});
    const failure = await client
      .query('SELECT pg_terminate_backend(pg_backend_pid())')
      .catch((error: Error) => error);
    assert.ok(failure instanceof Error);
    client.release(failure);
  });
  await pool.query('SELECT 1');
  await pool.end();
  for (const { traceId } of [thrown, killed]) {
    assert.ok(holdMs(one('pool_wait', traceId)) > 0);
    one('connection_wait', traceId);
  }
  assert.equal(openHolds(), 0);
});

test('a free connection that is handed over late was not waited for', async () => {
  const pool = newPool({ max: 1, application_name: 'idle' });
  await pool.query('SELECT 1');
  const { traceId } = await request(async () => {
    const client = pool.connect();
    const busyUntil = performance.now() + 30;
    while (performance.now() < busyUntil);
    (await client).release();
  });
  await pool.end();
  const wait = one('pool_wait', traceId);
  assert.equal(wait.lengthMs, 0);
  assert.equal(wait.attributes['waitfall.resource.in_use'], 0);
});

test('what is still held when the process ends is exported as far as it is known', async () => {
  const pool = newPool({ max: 1, application_name: 'open' });
  const { traceId, value: client } = await request(() => pool.connect());
  assert.equal(recording.segment('pool_wait').length, 0);
  const { WaitfallSpanProcessor } = await import('@waitfall/instrumentation');
  const { NoopSpanProcessor } = await import('@opentelemetry/sdk-trace');
  await new WaitfallSpanProcessor(new NoopSpanProcessor()).shutdown();
  assert.ok(holdMs(one('pool_wait', traceId)) > 0);
  client.release();
  assert.equal(recording.segment('pool_wait').length, 1);
  await pool.end();
});
