// A service with an OpenTelemetry set-up of its own, which it starts after `register`.

import { trace } from '@opentelemetry/api';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { FileSpanProcessor, WaitfallSpanProcessor } from '@waitfall/instrumentation';

const early = trace.getTracer('early');
const sdk = new NodeSDK({
  spanProcessors: [new WaitfallSpanProcessor(new FileSpanProcessor(process.env.OWN_FILE))],
  metricReaders: [],
  logRecordProcessors: [],
  instrumentations: [new HttpInstrumentation(), new PgInstrumentation(), new UndiciInstrumentation()],
});
sdk.start();
const { default: express } = await import('express');
const { default: pg } = await import('pg');
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 2, application_name: 'shop' });
const app = express();
app.get('/row', async (_request, response) => {
  const span = early.startSpan('step');
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM (VALUES (1)) AS one (id) WHERE id = $1', [1]);
  await client.query('COMMIT');
  client.release();
  span.end();
  response.json({});
});
app.get('/call', async (_request, response) => {
  const { port } = server.address();
  response.json(await (await fetch(`http://127.0.0.1:${port}/headers`)).json());
});
app.get('/headers', (request, response) => response.json(request.headers));
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', async () => {
  server.close();
  server.closeAllConnections();
  await pool.end();
  await sdk.shutdown();
  process.disconnect();
});
