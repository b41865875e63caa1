/**
 * How well the adapters measure, and what they cost:
 *
 *   npm run bench:adapters
 *
 * Accuracy: 8 requests at a time through 2 slots held 3 ms; recorded wait and hold against what the caller measures
 * around them, 400 requests a library. Cost: an acquire and a release nobody waits for, the spans of both included;
 * the best of many short batches counts. `WAITFALL_ADAPTERS=false npm run bench:adapters` is the same without.
 */
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { wrapLimit, wrapQueue } from '@waitfall/instrumentation';
import pLimit from 'p-limit';
import PQueue from 'p-queue';
import { openDatabase } from '../../sample-app/src/postgres/database.ts';
import { request, startRecording } from '../instrumentation/support/recording.ts';

const REQUESTS = 400;
const AT_A_TIME = 8;
const SLOTS = 2;
const HOLD_MS = 3;
const BATCH = 200;
const BATCHES = 40;

process.env['WAITFALL_MIN_WAIT_MS'] = '0';
const recording = startRecording({ official: false });
const require = createRequire(import.meta.url);
const { Pool: Tarn } = require('tarn');
const { Pool: Sequelize } = require('sequelize-pool');
const generic = require('generic-pool');
const create = async () => ({});
const destroy = async () => {};
const database = await openDatabase();
const knex = require('knex')({ client: 'pg', connection: database.url, pool: { min: 0, max: SLOTS } });
const sql = require('postgres')(database.url, { max: SLOTS, fetch_types: false });
const tarn = new Tarn({ create, destroy, min: 0, max: SLOTS });
const sequelize = new Sequelize({ create, destroy, validate: () => true, min: 0, max: SLOTS });
const pool = generic.createPool({ create, destroy }, { max: SLOTS });
const limit = wrapLimit(pLimit(SLOTS), 'bench');
const queue = wrapQueue(new PQueue({ concurrency: SLOTS }), 'bench');

/** Takes a slot, runs something in it, gives it back. */
type Use = (run: () => Promise<void>) => Promise<unknown>;

function pooled<T>(acquire: () => PromiseLike<T>, release: (item: T) => unknown): Use {
  return async (run) => {
    const item = await acquire();
    await run();
    await release(item);
  };
}

const LIBRARIES: Record<string, Use> = {
  tarn: pooled(
    () => tarn.acquire().promise,
    (item) => tarn.release(item),
  ),
  'sequelize-pool': pooled(
    () => sequelize.acquire(),
    (item) => sequelize.release(item),
  ),
  'generic-pool': pooled(
    () => pool.acquire(),
    (item) => pool.release(item),
  ),
  knex: pooled(
    () => knex.client.acquireConnection(),
    (item) => knex.client.releaseConnection(item),
  ),
  // What the caller measures around it includes the round trips of BEGIN and COMMIT.
  'postgres begin': (run) => sql.begin(async () => run()),
  'p-limit': (run) => limit(run),
  'p-queue': (run) => queue.add(run),
};

/** @returns recorded minus measured, ms, of waits and holds. */
async function accuracy(use: Use): Promise<{ waitMs: number[]; holdMs: number[] }> {
  const measured = new Map<string, { waitMs: number; holdMs: number }>();
  let left = REQUESTS;
  const worker = async () => {
    while (left-- > 0) {
      let [calledMs, startedMs, endedMs] = [0, 0, 0];
      const { traceId } = await request(async () => {
        calledMs = performance.now();
        await use(async () => {
          startedMs = performance.now();
          await sleep(HOLD_MS);
          endedMs = performance.now();
        });
      });
      measured.set(traceId, { waitMs: startedMs - calledMs, holdMs: endedMs - startedMs });
    }
  };
  recording.clear();
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  const result = { waitMs: [] as number[], holdMs: [] as number[] };
  for (const wait of recording.segment('pool_wait')) {
    const truth = measured.get(wait.traceId);
    const heldNs = wait.attributes['waitfall.hold.duration_ns'];
    // What found a free slot has no wait to compare.
    if (truth === undefined || wait.lengthMs === 0 || typeof heldNs !== 'number') continue;
    result.waitMs.push(wait.lengthMs - truth.waitMs);
    result.holdMs.push(heldNs / 1e6 - truth.holdMs);
  }
  return result;
}

/** @returns an acquire and a release, in µs. */
async function costUs(use: Use): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  const nothing = async () => {};
  for (let batch = 0; batch < BATCHES; batch++) {
    const startMs = performance.now();
    await request(async () => {
      for (let at = 0; at < BATCH; at++) await use(nothing);
    });
    best = Math.min(best, ((performance.now() - startMs) * 1e3) / BATCH);
    recording.clear();
  }
  return best;
}

function quantiles(values: number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) return '       -'.repeat(3);
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  return [0.05, 0.5, 0.95].map((q) => at(q).toFixed(3).padStart(8)).join('');
}

console.log(
  'recorded minus measured, ms                 wait p5     p50     p95     hold p5     p50     p95    acquire+release',
);
for (const [name, use] of Object.entries(LIBRARIES)) {
  const { waitMs, holdMs } = await accuracy(use);
  const cost = await costUs(use);
  console.log(
    `${name.padEnd(20)} ${String(waitMs.length).padStart(5)} waits       ${quantiles(waitMs)}    ${quantiles(holdMs)}    ${cost.toFixed(1).padStart(9)} µs`,
  );
}
await tarn.destroy();
await sequelize.drain().then(() => sequelize.destroyAllNow());
await pool.drain().then(() => pool.clear());
await knex.destroy();
await sql.end();
await database.close();
await recording.stop();
