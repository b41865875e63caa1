/**
 * What the lock sampler costs, and how its waits compare with those recorded without asking the server:
 *
 *   npm run bench:locks            20 workers on one row, 200 statements a second without contention; 5 s each, twice
 *   npm run bench:locks -- --short
 *
 * Cost on the server is the CPU time of the sampler's own server process. Cost in the service is the difference of
 * its CPU time per second between rounds with and without the sampler, alternating.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { WaitfallInstrumentation, WaitfallSpanProcessor } from '@waitfall/instrumentation';
import {
  lockSamplerReport,
  startLockSampler,
  stopLockSampler,
} from '../../instrumentation/src/pg/sampler/start.ts';
import { openDatabase } from '../../sample-app/src/postgres/database.ts';

const WORKERS = 20;
const HOLD_MS = 5;
const IDLE_PER_SECOND = 200;
/** The sampler may use this share of one core on a row that many want, on either side. */
const GOAL = 0.1;
/** Linux counts CPU time of a process in this unit. */
const TICK_MS = 10;

const isShort = process.argv.includes('--short');
const roundMs = isShort ? 1_500 : 5_000;
const rounds = isShort ? 1 : 2;

const drop = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
const provider = new TracerProvider({ spanProcessors: [new WaitfallSpanProcessor(drop)] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
registerInstrumentations({ instrumentations: [new WaitfallInstrumentation()] });
const pg = createRequire(import.meta.url)('pg') as typeof import('pg');

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url, max: WORKERS });
// Outside every request: the sampler never looks at these.
const control = new pg.Client({ connectionString: database.url });
await control.connect();
await control.query('CREATE TABLE item (id int PRIMARY KEY, n int)');
await control.query('INSERT INTO item VALUES (1, 0)');

async function request(run: () => Promise<unknown>): Promise<void> {
  const span = trace.getTracer('bench').startSpan('request', { kind: SpanKind.SERVER });
  await context.with(trace.setSpan(context.active(), span), run);
  span.end();
}

/** Everybody wants one row. @returns transactions a second. */
async function hotRow(): Promise<number> {
  const endMs = performance.now() + roundMs;
  let done = 0;
  const worker = async () => {
    while (performance.now() < endMs) {
      await request(async () => {
        const client = await pool.connect();
        await client.query('BEGIN');
        await client.query('UPDATE item SET n = n + 1 WHERE id = $1', [1]);
        await sleep(HOLD_MS);
        await client.query('COMMIT');
        client.release();
      });
      done++;
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  return (done / roundMs) * 1e3;
}

/** Short statements nobody is in the way of. @returns statements a second. */
async function calm(): Promise<number> {
  const endMs = performance.now() + roundMs;
  let done = 0;
  while (performance.now() < endMs) {
    await request(() => pool.query('SELECT 1'));
    done++;
    await sleep(1e3 / IDLE_PER_SECOND);
  }
  return (done / roundMs) * 1e3;
}

/** @returns CPU time of the sampler's server process so far, ms; null where it cannot be read. */
async function serverCpuMs(): Promise<number | null> {
  const { rows } = await control.query(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'waitfall-lock-sampler'",
  );
  try {
    const fields = readFileSync(`/proc/${rows[0].pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return null;
  }
}

interface Round {
  readonly perSecond: number;
  /** Shares of one core. */
  readonly service: number;
  readonly server: number | null;
  readonly polls: number;
}

async function round(load: () => Promise<number>, samples: boolean): Promise<Round> {
  if (samples) {
    startLockSampler({ mode: 'each', gateMs: 10, intervalMs: 25, url: undefined });
    // Connects with the first statement that is old enough.
    await request(() => pool.query('SELECT pg_sleep(0.3)'));
  }
  const polls = () => lockSamplerReport()?.databases[0]?.polls ?? 0;
  const before = {
    cpu: process.cpuUsage(),
    server: await serverCpuMs(),
    polls: polls(),
    atMs: performance.now(),
  };
  const perSecond = await load();
  const tookMs = performance.now() - before.atMs;
  const { user, system } = process.cpuUsage(before.cpu);
  const server = await serverCpuMs();
  const result = {
    perSecond,
    service: (user + system) / 1e3 / tookMs,
    server: server === null || before.server === null ? null : (server - before.server) / tookMs,
    polls: (polls() - before.polls) / (tookMs / 1e3),
  };
  if (samples && load === hotRow) printComparison();
  stopLockSampler();
  return result;
}

function printComparison(): void {
  console.log(`  ${lockSamplerReport()?.comparison}`);
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

async function compare(name: string, load: () => Promise<number>): Promise<number> {
  console.log(`${name}, ${rounds} x ${roundMs / 1e3} s`);
  const [without, withSampler]: Round[][] = [[], []];
  for (let at = 0; at < rounds; at++) {
    without.push(await round(load, false));
    withSampler.push(await round(load, true));
  }
  const of = (all: Round[], what: (round: Round) => number) => mean(all.map(what));
  const server = of(withSampler, ({ server }) => server ?? Number.NaN);
  const service = of(withSampler, ({ service }) => service) - of(without, ({ service }) => service);
  console.log(
    `  per second: ${of(without, (r) => r.perSecond).toFixed(0)} without, ${of(withSampler, (r) => r.perSecond).toFixed(0)} with`,
  );
  console.log(`  polls per second: ${of(withSampler, ({ polls }) => polls).toFixed(1)}`);
  console.log(
    `  of one core, more: server ${percent(server)}, service ${percent(service)} (of ${percent(of(without, (r) => r.service))})`,
  );
  return server;
}

await hotRow();
const hot = await compare(`${WORKERS} workers on one row, held ${HOLD_MS} ms`, hotRow);
await compare(`${IDLE_PER_SECOND} statements a second, nobody waits`, calm);
await pool.end();
await control.end();
await database.close();
if (hot > GOAL) {
  console.error(`the sampler used ${percent(hot)} of a core on the server, more than ${percent(GOAL)}`);
  process.exitCode = 1;
}
