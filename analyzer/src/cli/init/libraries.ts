/** What a library is to a request, and what has to be done to see the wait for it. */
export interface Library {
  readonly role: 'server' | 'database' | 'cache' | 'outgoing' | 'limiter' | 'messaging' | 'workers';
  /** What is recorded of it, or why nothing is. */
  readonly seen: string;
  /** `register`: without a line of code; `code`: one line of code; `official`: by an instrumentation to install. */
  readonly by: 'register' | 'code' | 'official' | 'nobody';
  /** Package to install, or the line of code. */
  readonly how?: string;
}

const OFFICIAL = '@opentelemetry/instrumentation-';
const POOL: Library = { role: 'database', seen: 'pool waits, new connections, holds', by: 'register' };

/** Libraries that services wait in, by package name. */
export const LIBRARIES: Readonly<Record<string, Library>> = {
  express: {
    role: 'server',
    seen: 'requests by route, waits for the event loop',
    by: 'register',
  },
  fastify: { role: 'server', seen: 'requests by method, waits for the event loop', by: 'register' },
  koa: { role: 'server', seen: 'requests by method, waits for the event loop', by: 'register' },
  '@nestjs/core': { role: 'server', seen: 'requests, through express or fastify below it', by: 'register' },
  '@hapi/hapi': { role: 'server', seen: 'requests by method, waits for the event loop', by: 'register' },
  hono: { role: 'server', seen: 'requests by method, on Node’s http server', by: 'register' },
  next: {
    role: 'server',
    seen: 'requests by method; its own spans where instrumentation.ts exports them',
    by: 'register',
  },
  pg: { role: 'database', seen: 'pool waits, new connections, holds, row locks, statements', by: 'register' },
  'pg-pool': { role: 'database', seen: 'pool waits, new connections, holds', by: 'register' },
  knex: POOL,
  sequelize: POOL,
  typeorm: { role: 'database', seen: 'as its driver: pg and mysql2 are recorded', by: 'register' },
  '@prisma/client': {
    role: 'database',
    seen: 'waits of its engine for a connection',
    by: 'official',
    how: '@prisma/instrumentation',
  },
  'drizzle-orm': {
    role: 'database',
    seen: 'as its driver: pg, postgres and mysql2 are recorded',
    by: 'register',
  },
  kysely: { role: 'database', seen: 'as its driver: pg and mysql2 are recorded', by: 'register' },
  postgres: POOL,
  mysql2: POOL,
  mongodb: { role: 'database', seen: 'commands', by: 'official', how: `${OFFICIAL}mongodb` },
  ioredis: { role: 'cache', seen: 'waits for the connection, and behind slow commands', by: 'register' },
  redis: { role: 'cache', seen: 'commands', by: 'official', how: `${OFFICIAL}redis` },
  undici: { role: 'outgoing', seen: 'calls', by: 'official', how: `${OFFICIAL}undici` },
  axios: { role: 'outgoing', seen: 'calls', by: 'official', how: `${OFFICIAL}http` },
  got: { role: 'outgoing', seen: 'calls', by: 'official', how: `${OFFICIAL}http` },
  'generic-pool': POOL,
  tarn: POOL,
  'p-limit': {
    role: 'limiter',
    seen: 'turns, once they are wrapped',
    by: 'code',
    how: "wrapLimit(pLimit(4), 'NAME')",
  },
  'p-queue': {
    role: 'limiter',
    seen: 'turns, once they are wrapped',
    by: 'code',
    how: "wrapQueue(queue, 'NAME')",
  },
  bottleneck: {
    role: 'limiter',
    seen: 'turns, once they are wrapped',
    by: 'code',
    how: "withWait('NAME', …)",
  },
  piscina: { role: 'workers', seen: 'turns, once they are wrapped', by: 'code', how: "withWait('NAME', …)" },
  kafkajs: { role: 'messaging', seen: 'messages', by: 'official', how: `${OFFICIAL}kafkajs` },
  amqplib: { role: 'messaging', seen: 'messages', by: 'official', how: `${OFFICIAL}amqplib` },
};

/** Agents that patch the same libraries and keep the spans for themselves. */
export const VENDOR_AGENTS: readonly string[] = [
  'dd-trace',
  'newrelic',
  'elastic-apm-node',
  '@sentry/node',
  '@appsignal/nodejs',
  '@instana/collector',
  'applicationinsights',
  '@dynatrace/oneagent',
];

/** OpenTelemetry distributions that start an SDK themselves. */
export const DISTRIBUTIONS: readonly string[] = [
  '@opentelemetry/auto-instrumentations-node',
  '@elastic/opentelemetry-node',
  '@splunk/otel',
  '@azure/monitor-opentelemetry',
  '@honeycombio/opentelemetry-node',
];
