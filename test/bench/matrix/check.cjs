// Runs inside an installation with given versions. Argument: how it is set up. Prints what was recorded.
const mode = process.argv[2];
const spans = [];
if (mode === 'own set-up') {
  const { NodeSDK } = require('@opentelemetry/sdk-node');
  const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http');
  const { PgInstrumentation } = require('@opentelemetry/instrumentation-pg');
  const { WaitfallInstrumentation, WaitfallSpanProcessor } = require('@waitfall/instrumentation');
  const collect = {
    onStart() {},
    onEnd: (span) => spans.push(span),
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  new NodeSDK({
    spanProcessors: [new WaitfallSpanProcessor(collect)],
    instrumentations: [new HttpInstrumentation(), new PgInstrumentation(), new WaitfallInstrumentation()],
    autoDetectResources: false,
  }).start();
}
const http = require('node:http');
const pg = require('pg');
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1, application_name: 'matrix' });
const server = http.createServer(async (_request, response) => {
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query('UPDATE item SET sold = sold + 1 WHERE id = $1', [1]);
  await client.query('COMMIT');
  client.release();
  response.end('done');
});
server.listen(0, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const get = () =>
    new Promise((resolve) => http.get(url, (response) => response.resume().on('end', resolve)));
  await Promise.all([get(), get(), get()]);
  server.close();
  server.closeAllConnections?.();
  await pool.end();
  await new Promise((resolve) => setTimeout(resolve, 400));
  if (mode !== 'own set-up') return;
  for (const span of spans) {
    const { name, kind, startTime, attributes } = span;
    const context = span.spanContext();
    const parentSpanId = span.parentSpanContext?.spanId;
    console.log(
      JSON.stringify({
        name,
        kind,
        startTime,
        attributes,
        traceId: context.traceId,
        spanId: context.spanId,
        parentSpanId,
      }),
    );
  }
});
