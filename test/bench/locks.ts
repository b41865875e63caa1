/**
 * What the lock sampler costs, and how its waits compare with those recorded without asking the server:
 *
 *   npm run bench:locks            20 workers on one row, 200 statements a second without contention; 5 pairs of rounds
 *   npm run bench:locks -- --short
 *
 * Cost on the server is the CPU time of the sampler's own server process. Cost in the service is what a transaction takes
 * more of its CPU with the sampler than without, times the transactions a second: short rounds with and without alternate,
 * so that both see the same machine, and the medians are compared.
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
const roundMs = isShort ? 1_500 : 2_500;
const rounds = isShort ? 1 : 5;

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
  if (samples && load === hotRow) comparison = lockSamplerReport()?.comparison.toString() ?? '';
  stopLockSampler();
  return result;
}

/** Of the last round with the sampler: how its waits differ from those recorded without asking. */
let comparison = '';

function printComparison(): void {
  console.log(`  ${comparison}`);
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** @returns the quartile of some values, 1 the lower, 2 the median, 3 the upper one. */
function quartile(values: readonly number[], which: 1 | 2 | 3): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((which * sorted.length) / 4))];
}

/** Shares of one core that the sampler takes, by pair of rounds. */
interface Cost {
  readonly server: readonly number[];
  readonly service: readonly number[];
}

async function compare(name: string, load: () => Promise<number>): Promise<Cost> {
  console.log(`${name}, ${rounds} pairs of ${roundMs / 1e3} s`);
  const server: number[] = [];
  const service: number[] = [];
  const polls: number[] = [];
  const perSecond: number[][] = [[], []];
  for (let at = 0; at < rounds; at++) {
    // The one that comes first differs: a process gets faster, and a machine slower.
    const order = at % 2 === 0 ? [false, true] : [true, false];
    const pair: Round[] = [];
    for (const samples of order) pair[samples ? 1 : 0] = await round(load, samples);
    const [without, withSampler] = pair;
    perSecond[0].push(without.perSecond);
    perSecond[1].push(withSampler.perSecond);
    polls.push(withSampler.polls);
    if (withSampler.server !== null) server.push(withSampler.server);
    // CPU of one transaction with and without, so that more or fewer of them do not count.
    const more = withSampler.service / withSampler.perSecond - without.service / without.perSecond;
    service.push(more * withSampler.perSecond);
  }
  const spread = (values: readonly number[]) =>
    values.length === 0
      ? 'unknown'
      : `${percent(quartile(values, 2))} (${percent(quartile(values, 1))} to ${percent(quartile(values, 3))})`;
  console.log(
    `  per second: ${quartile(perSecond[0], 2).toFixed(0)} without, ${quartile(perSecond[1], 2).toFixed(0)} with`,
  );
  console.log(`  polls per second: ${quartile(polls, 2).toFixed(1)}`);
  console.log(
    `  of one core, more (median, quartiles): server ${spread(server)}, service ${spread(service)}`,
  );
  return { server, service };
}

await hotRow();
const hot = await compare(`${WORKERS} workers on one row, held ${HOLD_MS} ms`, hotRow);
printComparison();
await compare(`${IDLE_PER_SECOND} statements a second, nobody waits`, calm);
await pool.end();
await control.end();
await database.close();
for (const [side, shares] of Object.entries(hot) as [string, readonly number[]][]) {
  if (shares.length === 0 || quartile(shares, 2) <= GOAL) continue;
  console.error(
    `the sampler used ${percent(quartile(shares, 2))} of a core in the ${side}, more than ${percent(GOAL)}`,
  );
  process.exitCode = 1;
}
