// The service that is measured: three routes, instrumented as MODE says. It answers 'usage' with its CPU time, and with
// that of its main thread, after its exporter has sent everything: the export belongs to the cost.
import { createRequire } from 'node:module';
import { trace } from '@opentelemetry/api';
import { instrument } from './modes.mjs';

await instrument(process.env.MODE);
const require = createRequire(import.meta.url);
const express = require('express');
const pg = require('pg');

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10, application_name: 'bench' });
pool.on('error', () => {});
const app = express();
app.get('/empty/:id', async (request, response) => {
  const { rows } = await pool.query('SELECT $1::int AS id', [request.params.id]);
  response.json(rows[0]);
});
app.get('/slow/:id', async (request, response) => {
  const { rows } = await pool.query('SELECT $1::int AS id, pg_sleep(0.01)', [request.params.id]);
  response.json({ id: rows[0].id, sum: burn() });
});
app.get('/http/:id', (request, response) => response.json({ id: request.params.id }));

/** About a millisecond of plain computing. */
function burn() {
  let x = 1;
  for (let i = 0; i < 700_000; i++) x = (Math.imul(x, 1_103_515_245) + 12_345) & 0x7fffffff;
  return x;
}

const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', async () => {
  const provider = trace.getTracerProvider();
  await (provider.getDelegate?.() ?? provider).forceFlush?.();
  const all = process.cpuUsage();
  const main = process.threadCpuUsage();
  process.send({
    cpuUs: all.user + all.system,
    mainUs: main.user + main.system,
    rssBytes: process.memoryUsage().rss,
  });
});
