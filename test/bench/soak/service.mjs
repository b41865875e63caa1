// A service under soak: waits at a gate, for a pool and for a row; some of its requests fail, some clients leave.
import { setTimeout as sleep } from 'node:timers/promises';
import '@waitfall/instrumentation/register';

const { admission } = await import('@waitfall/instrumentation');
const { openHolds } = await import('../../../instrumentation/src/pg/pool-wait.ts');
const { openLocks } = await import('../../../instrumentation/src/pg/locks/connection-locks.ts');
const { default: express } = await import('express');
const { default: pg } = await import('pg');

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 4,
  connectionTimeoutMillis: 100,
});
pool.on('error', () => {});
const gate = admission({ maxConcurrent: 12, maxQueue: 19, timeoutMs: 100 });
const app = express();
app.use(gate);
app.get('/row/:n', async (request, response) => {
  const n = Number(request.params.n);
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query("SET LOCAL lock_timeout = '20ms'");
    await client.query('UPDATE soak SET n = n + 1 WHERE id = $1', [n % 3]);
    if (n % 13 === 0) await client.query('SELECT 1 / 0');
    await client.query('COMMIT');
    response.json({ n });
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  } finally {
    client.release();
  }
});
app.get('/read/:n', async (request, response) => {
  const { rows } = await pool.query('SELECT $1::int AS n', [request.params.n]);
  response.json(rows[0]);
});
app.use((error, _request, response, _next) => response.status(500).json({ error: error.message }));

const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', async () => {
  // What is still on its way comes to its end first.
  for (let i = 0; i < 100 && (gate.stats().active > 0 || pool.waitingCount > 0); i++) await sleep(20);
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await sleep(20);
  }
  const { heapUsed, rss } = process.memoryUsage();
  process.send({ heapUsed, rss, holds: openHolds(), locks: openLocks(), gate: gate.stats() });
});
