// Runs the same four statements with two instrumentations in a given order and pg loaded in a given way.
// Arguments: order (official,waitfall,none…), load style. Prints what was recorded as JSON.
import { createRequire } from 'node:module';
import { context, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { WaitfallInstrumentation, WaitfallSpanProcessor } from '@waitfall/instrumentation';

const [order, style] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const exporter = new InMemorySpanExporter();
const make = { official: () => new PgInstrumentation(), waitfall: () => new WaitfallInstrumentation() };
const instrumentations = order.split('+').map((name) => make[name]());
const provider = new TracerProvider({
  spanProcessors: [new WaitfallSpanProcessor(new SimpleSpanProcessor({ exporter }))],
});
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
registerInstrumentations({ instrumentations });

const load = {
  require: async () => require('pg'),
  import: async () => (await import('pg')).default,
  'require, then import': async () => {
    require('pg');
    return (await import('pg')).default;
  },
  'import, then require': async () => {
    await import('pg');
    return require('pg');
  },
  'pg-pool by itself': async () => ({ Pool: (await import('pg-pool')).default }),
  'hidden by an agent': async () => {
    const Client = require('pg/lib/client.js');
    const { query } = Client.prototype;
    Client.prototype.query = function (...args) {
      return query.apply(this, args);
    };
    return require('pg');
  },
  'after a restart': async () => {
    const pg = require('pg');
    for (const instrumentation of instrumentations) instrumentation.disable();
    for (const instrumentation of instrumentations) instrumentation.enable();
    return pg;
  },
};
const pg = await load[style]();
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1 });
const listeners = () =>
  ['connect', 'acquire', 'release', 'remove', 'error'].map((name) => pool.listenerCount(name));
const untouched = listeners();
async function request(run) {
  const span = trace.getTracer('test').startSpan('request', { kind: SpanKind.SERVER });
  await context.with(trace.setSpan(context.active(), span), run);
  span.end();
}
await request(() => pool.query('SELECT 1'));
await request(async () => {
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query('UPDATE item SET sold = sold + 1 WHERE id = $1', [1]);
  await client.query('COMMIT');
  client.release();
});
const added = listeners().map((count, index) => count - untouched[index]);
await pool.end();
const spans = exporter.getFinishedSpans();
const count = (test) => spans.filter(test).length;
console.log(
  JSON.stringify({
    queries: count((span) => span.name.startsWith('pg.query')),
    officialQueries: count(
      (s) => s.name.startsWith('pg.query') && s.instrumentationScope.name.endsWith('-pg'),
    ),
    pool: count((span) => span.attributes['waitfall.segment'] === 'pool_wait'),
    connection: count((span) => span.attributes['waitfall.segment'] === 'connection_wait'),
    lock: count((span) => span.attributes['waitfall.segment'] === 'lock_wait'),
    lockBelowQuery: count((span) => {
      if (span.attributes['waitfall.segment'] !== 'lock_wait') return false;
      return spans.some(
        (p) => p.spanContext().spanId === span.parentSpanContext.spanId && p.name.startsWith('pg.query'),
      );
    }),
    orphans: count(
      (s) => s.parentSpanContext && !spans.some((p) => p.spanContext().spanId === s.parentSpanContext.spanId),
    ),
    added,
  }),
);
