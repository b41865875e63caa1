import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { trace } from '@opentelemetry/api';
import type { Database } from '../../sample-app/src/postgres/database.ts';
import { type Recording, request, startRecording } from './support/recording.ts';

let recording: Recording;
let database: Database;
let pg: typeof import('pg');

before(async () => {
  recording = startRecording({ official: false });
  pg = createRequire(import.meta.url)('pg');
  const { openDatabase } = await import('../../sample-app/src/postgres/database.ts');
  database = await openDatabase();
});
after(async () => {
  await database?.close();
  await recording?.stop();
});
beforeEach(() => recording.clear());

const newPool = () => new pg.Pool({ connectionString: database.url, max: 1 });
const activeTrace = () => trace.getActiveSpan()?.spanContext().traceId;
type Pool = ReturnType<typeof newPool>;
type Callback = (error: Error | undefined, ...rest: never[]) => void;

/** Runs something in several requests at once, all but one of which wait for the pool. */
async function together(
  run: (pool: Pool, seen: (string | undefined)[]) => Promise<unknown>,
  pool = newPool(),
) {
  await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const seen: (string | undefined)[] = [];
      const { traceId } = await request(() => run(pool, seen));
      assert.ok(seen.length > 0);
      for (const trace of seen) assert.equal(trace, traceId);
    }),
  );
  await pool.end();
}

test("what follows a pool's query runs in its request, in every style", async () => {
  await together(async (pool, seen) => {
    await pool.query('SELECT 1');
    seen.push(activeTrace());
    await pool.query({ text: 'SELECT $1::int', values: [1] }).then(() => seen.push(activeTrace()));
    await pool.query('SELECT nothing').catch(() => seen.push(activeTrace()));
    await new Promise<void>((resolve) => {
      pool.query('SELECT $1::int', [2], () => {
        seen.push(activeTrace());
        resolve();
      });
    });
  });
});

test('a statement in a callback of the service is its own, beside queries of the pool', async () => {
  await together(async (pool, seen) => {
    await pool.query('SELECT 1');
    await new Promise<void>((resolve) => {
      pool.connect((_, client, release) => {
        client!.query('SELECT 2', () => {
          seen.push(activeTrace());
          client!.query('SELECT 3', () => {
            seen.push(activeTrace());
            release();
            resolve();
          });
        });
      });
    });
  });
});

test('what somebody has put around connect and query runs in the request too', async () => {
  let seen: (string | undefined)[] = [];
  const pool = newPool();
  const { connect } = pool;
  pool.connect = ((callback: Callback) =>
    connect.call(pool, (error, client, ...rest) => {
      if (!client) return callback(error);
      client.query('SET statement_timeout = 1000', () => {
        seen.push(activeTrace());
        (callback as (...all: unknown[]) => void)(error, client, ...rest);
      });
    })) as typeof pool.connect;
  const { traceId } = await request(() => pool.query('SELECT 1'));
  await pool.end();
  assert.deepEqual(seen, [traceId]);

  seen = [];
  const { prototype } = pg.Client as unknown as { prototype: { query: (...args: unknown[]) => unknown } };
  const { query } = prototype;
  prototype.query = function (...args) {
    const last = args.at(-1) as (...all: unknown[]) => unknown;
    return query.apply(this, [
      ...args.slice(0, -1),
      (...all: unknown[]) => {
        seen.push(activeTrace());
        return last(...all);
      },
    ]);
  };
  try {
    const other = newPool();
    const { traceId: second } = await request(() => other.query('SELECT 1'));
    await other.end();
    assert.deepEqual(seen, [second]);
  } finally {
    prototype.query = query;
  }
});
