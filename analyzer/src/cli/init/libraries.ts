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
const pool = (line: string): Library => ({
  role: 'database',
  seen: 'the wait for a connection, once it is wrapped',
  by: 'code',
  how: line,
});

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
  knex: pool("withWait('knex-pool', () => knex.client.acquireConnection())"),
  sequelize: pool("withWait('sequelize-pool', …) around pool.acquire()"),
  typeorm: { role: 'database', seen: 'as its driver: pg is recorded, others are not', by: 'register' },
  '@prisma/client': {
    role: 'database',
    seen: 'waits of its engine for a connection',
    by: 'official',
    how: '@prisma/instrumentation',
  },
  'drizzle-orm': { role: 'database', seen: 'as its driver: pg is recorded, others are not', by: 'register' },
  kysely: { role: 'database', seen: 'as its driver: pg is recorded, others are not', by: 'register' },
  postgres: pool("withWait('postgres', () => sql.reserve())"),
  mysql2: { role: 'database', seen: 'statements', by: 'official', how: `${OFFICIAL}mysql2` },
  mongodb: { role: 'database', seen: 'commands', by: 'official', how: `${OFFICIAL}mongodb` },
  ioredis: { role: 'cache', seen: 'commands', by: 'official', how: `${OFFICIAL}ioredis` },
  redis: { role: 'cache', seen: 'commands', by: 'official', how: `${OFFICIAL}redis` },
  undici: { role: 'outgoing', seen: 'calls', by: 'official', how: `${OFFICIAL}undici` },
  axios: { role: 'outgoing', seen: 'calls', by: 'official', how: `${OFFICIAL}http` },
  got: { role: 'outgoing', seen: 'calls', by: 'official', how: `${OFFICIAL}http` },
  'generic-pool': pool("withWait('NAME', () => pool.acquire())"),
  tarn: pool("withWait('NAME', () => pool.acquire().promise)"),
  'p-limit': {
    role: 'limiter',
    seen: 'turns, once they are wrapped',
    by: 'code',
    how: "withWait('NAME', …)",
  },
  'p-queue': {
    role: 'limiter',
    seen: 'turns, once they are wrapped',
    by: 'code',
    how: "withWait('NAME', …)",
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
