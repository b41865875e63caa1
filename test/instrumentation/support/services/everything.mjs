// A service with every shape of request the server span must get right.
import { context, propagation, trace } from '@opentelemetry/api';
import express from 'express';
import pg from 'pg';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const tracer = trace.getTracer('service');
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 3, application_name: 'shop' });
const lost = new Set();
/** The active trace must be the one the client sent. */
function check(request, where) {
  const expected = request.headers['x-trace'];
  if (expected && trace.getActiveSpan()?.spanContext().traceId !== expected) lost.add(where);
}

const app = express();
app.get('/users/:id', async (request, response) => {
  check(request, 'handler');
  await sleep(2);
  check(request, 'after a timer');
  await tracer.startActiveSpan('own span', async (span) => {
    await pool.query('SELECT pg_sleep(0.002)');
    check(request, 'after a query');
    span.end();
  });
  const client = await pool.connect();
  check(request, 'after connect');
  await client.query('SELECT 1');
  client.release();
  response.on('finish', () => check(request, 'finish listener'));
  trace.getActiveSpan().setAttribute('user.id', request.params.id);
  response.json({ ok: true });
});
app.post('/json', express.json(), (request, response) => {
  check(request, 'after express.json');
  response.json(request.body);
});
app.post('/raw', (request, response) => {
  request.on('data', () => check(request, 'data'));
  request.on('end', () => {
    check(request, 'end');
    response.end('read');
  });
});
app.get('/error', () => {
  throw new Error('boom');
});
app.get('/slow', async (request, response) => {
  await sleep(Number(request.query.ms ?? 80));
  response.end('late');
});
app.get('/stream', async (_request, response) => {
  for (let i = 0; i < 5; i++) {
    response.write('x'.repeat(1000));
    await sleep(10);
  }
  response.end();
});
app.get('/context', (_request, response) => {
  const carrier = {};
  propagation.inject(context.active(), carrier);
  response.json({ carrier, baggage: propagation.getActiveBaggage()?.getEntry('k')?.value ?? null });
});
app.get('/exception', (_request, response) => {
  const span = trace.getActiveSpan();
  span.recordException(new RangeError('too far'));
  span.addEvent('noted', { n: 1 });
  span.setStatus({ code: 2, message: 'said so' });
  span.updateName('renamed');
  response.end();
});
const nested = express.Router();
nested.get('/items/:item', (_request, response) => response.end('item'));
nested.get('/', (_request, response) => response.end('list'));
app.use('/orgs/:org', nested);
app.use('/v1', nested);

// Applications within applications, and one within a router.
const inner = express();
inner.get('/things/:thing', (_request, response) => response.json({}));
const outer = express();
outer.use('/deep', inner);
app.use('/apps/:app', outer);
const guest = express();
guest.get('/rooms/:room', (_request, response) => response.json({}));
const house = express.Router();
house.use('/houses/:house', guest);
app.use('/street', house);
app.get('/lost', (_request, response) => response.json([...lost]));

const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', async (message) => {
  if (message !== 'stop') return;
  server.close();
  server.closeAllConnections();
  await pool.end();
  process.disconnect();
});
