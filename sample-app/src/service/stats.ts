import type pg from 'pg';
import type { Eligibility } from './eligibility.ts';

/** State of the admission limiter: gauges of this moment and counts since the start. */
export interface AdmissionStats {
  readonly active: number;
  readonly waiting: number;
  readonly executed: number;
  readonly rejected: number;
}

/** Answer of `/stats`; counts are totals since the start, to be read as differences between two moments. */
export interface StatsAnswer extends AdmissionStats {
  readonly writeFailures: number;
  /** Requests waiting for their turn to parse the rules. */
  readonly turnsWaiting: number;
  readonly pool: {
    readonly max: number;
    readonly total: number;
    readonly inUse: number;
    readonly waiting: number;
  };
  /** Busy and idle time of the event loop since the start, ms. */
  readonly eventLoop: { readonly activeMs: number; readonly idleMs: number };
  readonly memoryBytes: number;
  /** Sign-ups whose audit record is still to be written; null where the variant has no outbox. */
  readonly outbox: OutboxState | null;
}

export interface OutboxState {
  readonly rows: number;
  /** Age of the oldest row, ms; 0 when there is none. */
  readonly lagMs: number;
}

/** Reads the state of the outbox. */
export async function readOutbox(client: pg.ClientBase): Promise<OutboxState> {
  const { rows } = await client.query<OutboxState>(
    `SELECT count(*)::int AS rows,
       coalesce(extract(epoch FROM clock_timestamp() - min(created_at)) * 1000, 0)::float8 AS "lagMs"
     FROM outbox`,
  );
  return rows[0]!;
}

/** Collects what `/stats` tells. */
export class ServiceStats {
  writeFailures = 0;
  readonly #admission: () => AdmissionStats;
  readonly #pool: pg.Pool;
  readonly #eligibility: Eligibility;
  readonly #outbox: () => Promise<OutboxState | null>;

  /** @param outbox must not use `pool`: the state of a full pool could not be read through it. */
  constructor(
    admission: () => AdmissionStats,
    pool: pg.Pool,
    eligibility: Eligibility,
    outbox: () => Promise<OutboxState | null>,
  ) {
    this.#admission = admission;
    this.#pool = pool;
    this.#eligibility = eligibility;
    this.#outbox = outbox;
  }

  async read(): Promise<StatsAnswer> {
    const outbox = await this.#outbox();
    const { active, waiting, executed, rejected } = this.#admission();
    const pool = this.#pool;
    const loop = performance.eventLoopUtilization();
    return {
      active,
      waiting,
      executed,
      rejected,
      writeFailures: this.writeFailures,
      turnsWaiting: this.#eligibility.turns.length,
      pool: {
        max: pool.options.max,
        total: pool.totalCount,
        inUse: pool.totalCount - pool.idleCount,
        waiting: pool.waitingCount,
      },
      eventLoop: { activeMs: loop.active, idleMs: loop.idle },
      memoryBytes: process.memoryUsage.rss(),
      outbox,
    };
  }
}
