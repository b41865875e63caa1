/**
 * The sign-up service.
 *
 *   DATABASE_URL=… node --import @waitfall/instrumentation/register src/service/main.ts
 *
 * PORT (default: a free one), SIGNUP_VARIANT (default `before`), SIGNUP_CONFIG (JSON with values that replace
 * those of the variant).
 */
import type { AddressInfo } from 'node:net';
import { context, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import pg from 'pg';
import { createApp } from './app.ts';
import { readOutbox } from './stats.ts';
import { type ServiceConfig, variantNamed } from './variants.ts';

/** What the process tells its parent once it listens, when there is one. */
export interface ServiceReady {
  readonly port: number;
}

const { DATABASE_URL, PORT, SIGNUP_VARIANT, SIGNUP_CONFIG } = process.env;
if (!DATABASE_URL)
  throw new Error('DATABASE_URL is not set: the service needs the URL of a PostgreSQL database');
const config: ServiceConfig = {
  ...variantNamed(SIGNUP_VARIANT ?? 'before').config,
  ...(JSON.parse(SIGNUP_CONFIG ?? '{}') as Partial<ServiceConfig>),
};

const pool = new pg.Pool({
  connectionString: DATABASE_URL,
  application_name: 'signup',
  max: config.poolMax,
  min: config.poolMax,
  idleTimeoutMillis: 0,
  maxUses: config.forced?.connectionUses ?? Number.POSITIVE_INFINITY,
});
const connectionLost = (error: Error) => console.error(`database connection lost: ${error.message}`);
// A lost connection is replaced at the next request; without listeners it would end the process, idle or in use.
pool.on('error', connectionLost);
pool.on('connect', (client) => client.on('error', connectionLost));

/** Opens all connections before the first request: a run measures queues, not the first connects. */
async function openConnections(): Promise<void> {
  const clients = await Promise.all(Array.from({ length: config.poolMax }, () => pool.connect()));
  for (const client of clients) client.release();
}

/** A connection of its own for `/stats`, where there is an outbox to look at. */
async function connectForStats(): Promise<pg.Client | null> {
  if (config.audit !== 'outbox') return null;
  const client = new pg.Client({ connectionString: DATABASE_URL, application_name: 'signup-stats' });
  client.on('error', connectionLost);
  await client.connect();
  return client;
}

/** Work that belongs to no request: its spans would look like requests of their own. */
const untraced = trace.setSpanContext(ROOT_CONTEXT, {
  traceId: '1'.padStart(32, '0'),
  spanId: '1'.padStart(16, '0'),
  traceFlags: TraceFlags.NONE,
});
const statsClient = await context.with(untraced, async () => {
  await openConnections();
  return connectForStats();
});
const readState = async () => statsClient && readOutbox(statsClient);
const server = createApp(config, pool, readState).listen(Number(PORT ?? 0), '127.0.0.1', 4096, () => {
  const ready: ServiceReady = { port: (server.address() as AddressInfo).port };
  if (process.send) process.send(ready);
  else console.log(`listening on http://127.0.0.1:${ready.port}`);
});
// Longer than the load's connections stand idle before its top step.
server.keepAliveTimeout = 120_000;

let ending = false;
function end(): void {
  if (ending) return;
  ending = true;
  server.close(async () => {
    await Promise.all([pool.end(), statsClient?.end()]);
    // No process.exit(): spans that wait to be sent go out while the process ends by itself.
    process.disconnect?.();
  });
  server.closeIdleConnections();
  // Requests that are still open after this are given up.
  setTimeout(() => process.exit(0), 3_000).unref();
}
process.on('SIGTERM', end);
process.on('SIGINT', end);
process.on('disconnect', () => {
  if (!ending) process.exit(0);
});
