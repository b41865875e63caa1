/** What a library is to a request, and what has to be done to see the wait for it. */
export interface Library {
  readonly role: 'server' | 'database' | 'cache' | 'outgoing' | 'limiter' | 'messaging' | 'workers';
  /** What is recorded of it. */
  readonly seen: string;
  /** `register`: without a line of code; `code`: one line of code; `official`: by an instrumentation to install. */
  readonly by: 'register' | 'code' | 'official';
  /** Package to install, or the line of code. */
  readonly how?: string;
}

const OFFICIAL = '@opentelemetry/instrumentation-';
const WAITS = 'pool waits, new connections, holds';

const server = (seen: string): Library => ({ role: 'server', seen, by: 'register' });
const pool = (seen = WAITS): Library => ({ role: 'database', seen, by: 'register' });
const outgoing: Library = {
  role: 'outgoing',
  seen: 'calls, waits for sockets and new connections',
  by: 'register',
};
const official = (role: Library['role'], seen: string, how: string): Library => ({
  role,
  seen,
  by: 'official',
  how,
});
const wrapped = (role: Library['role'], how: string): Library => ({
  role,
  seen: 'turns, once they are wrapped',
  by: 'code',
  how,
});

/** Libraries that services wait in, by package name. */
export const LIBRARIES: Readonly<Record<string, Library>> = {
  express: server('requests by route, waits for the event loop'),
  fastify: server('requests by route, waits for the event loop'),
  koa: server('requests, by route with a router; waits for the event loop'),
  '@nestjs/core': server('requests, through express or fastify below it'),
  '@hapi/hapi': server('requests by method, waits for the event loop'),
  hono: server('requests by method, on Node’s http server'),
  next: server('requests by method; its own spans where instrumentation.ts exports them'),
  pg: pool(`${WAITS}, row locks, statements`),
  'pg-pool': pool(),
  knex: pool(),
  objection: pool(),
  sequelize: pool(),
  typeorm: pool('as its driver: pg and mysql2 are recorded'),
  '@prisma/client': official('database', 'waits of its engine for a connection', '@prisma/instrumentation'),
  'drizzle-orm': pool('as its driver: pg, postgres and mysql2 are recorded'),
  kysely: pool('as its driver: pg and mysql2 are recorded'),
  postgres: pool(),
  mysql2: pool(),
  'generic-pool': pool(`${WAITS}; namePool() gives it a name`),
  tarn: pool(`${WAITS}; namePool() gives it a name`),
  mongodb: official('database', 'commands', `${OFFICIAL}mongodb`),
  ioredis: { role: 'cache', seen: 'commands behind slow ones, waits for the connection', by: 'register' },
  redis: official('cache', 'commands', `${OFFICIAL}redis`),
  undici: outgoing,
  axios: outgoing,
  got: outgoing,
  'p-limit': wrapped('limiter', "wrapLimit(pLimit(4), 'NAME')"),
  'p-queue': wrapped('limiter', "wrapQueue(new PQueue({ concurrency: 2 }), 'NAME')"),
  bottleneck: wrapped('limiter', "withWait('NAME', …)"),
  piscina: wrapped('workers', "withWait('NAME', …)"),
  kafkajs: official('messaging', 'messages', `${OFFICIAL}kafkajs`),
  amqplib: official('messaging', 'messages', `${OFFICIAL}amqplib`),
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
