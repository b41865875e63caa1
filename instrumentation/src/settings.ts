import type { InstrumentationConfig } from '@opentelemetry/instrumentation';
import { type PartSettings, type PartsConfig, partSettingsOf } from './part-settings.ts';
import type { SamplerSettings } from './pg/sampler/poll-schedule.ts';

/** What can be configured, by the constructor or by `WAITFALL_*` variables; the constructor wins. */
export interface WaitfallConfig extends InstrumentationConfig, PartsConfig {
  pg?: {
    /** Waits for pool slots and new connections, and holds. `WAITFALL_PG_POOL`, default true. */
    pool?: boolean;
    /** Statements: loop waits of their replies, and spans where nobody else makes them. `WAITFALL_PG_STATEMENTS`, default true. */
    statements?: boolean;
    /** Row locks, read from the statements that pass; sends no SQL. `WAITFALL_PG_ROW_LOCKS`, default true. */
    rowLocks?: boolean;
    /**
     * Secret that lock keys are hashed with, the same in all processes of one database. `WAITFALL_LOCK_SALT`,
     * default: database host and name.
     */
    lockSalt?: string;
    /**
     * Ask the server, on a connection of our own, what statements that run long wait for. `true`: every process
     * for its own; `leader`: one process of a database for all that say in a comment which span they belong to.
     * `WAITFALL_PG_LOCKS`, default false.
     */
    locks?: boolean | 'leader';
    /** Statements younger than this are not asked about, ms. `WAITFALL_PG_LOCKS_GATE_MS`, default 10. */
    locksGateMs?: number;
    /** Time between two questions, ms. `WAITFALL_PG_LOCKS_INTERVAL_MS`, default 25. */
    locksIntervalMs?: number;
    /** Way to the server past a pooler. `WAITFALL_PG_LOCKS_URL`, default: as the application's. */
    locksUrl?: string;
  };
  /**
   * Waits and holds of other pools and clients: tarn (knex), sequelize-pool, generic-pool, postgres, mysql2,
   * ioredis. `WAITFALL_ADAPTERS`, default true.
   */
  adapters?: boolean;
  http?: {
    /**
     * Believe `X-Request-Start` and `X-Queue-Start`: the request then begins when a proxy took it. Anybody can
     * send them. `WAITFALL_QUEUE_HEADER`, default false.
     */
    queueHeader?: boolean;
  };
  /**
   * A pool slot held longer than this is said once on stderr, with its trace; 0: never.
   * `WAITFALL_HOLD_WARN_MS`, default 60 000.
   */
  holdWarnMs?: number;
  /** Shortest wait that becomes a span; shorter ones only count in sums. `WAITFALL_MIN_WAIT_MS`, default 0.2. */
  minWaitMs?: number;
}

/** A configuration with every default filled in. */
export interface Settings extends PartSettings {
  enabled: boolean;
  pool: boolean;
  statements: boolean;
  rowLocks: boolean;
  lockSalt: string | undefined;
  /** Undefined: nobody asks. */
  locks: SamplerSettings | undefined;
  adapters: boolean;
  queueHeader: boolean;
  holdWarnMs: number;
  minWaitMs: number;
}

export function settingsOf(config: WaitfallConfig, env: NodeJS.ProcessEnv = process.env): Settings {
  return {
    ...partSettingsOf(config, env, flag),
    enabled: config.enabled ?? flag(env, 'WAITFALL_ENABLED', true),
    pool: config.pg?.pool ?? flag(env, 'WAITFALL_PG_POOL', true),
    statements: config.pg?.statements ?? flag(env, 'WAITFALL_PG_STATEMENTS', true),
    rowLocks: config.pg?.rowLocks ?? flag(env, 'WAITFALL_PG_ROW_LOCKS', true),
    lockSalt: config.pg?.lockSalt ?? (env['WAITFALL_LOCK_SALT'] || undefined),
    locks: samplerOf(config, env),
    adapters: config.adapters ?? flag(env, 'WAITFALL_ADAPTERS', true),
    queueHeader: config.http?.queueHeader ?? flag(env, 'WAITFALL_QUEUE_HEADER', false),
    holdWarnMs: config.holdWarnMs ?? number(env, 'WAITFALL_HOLD_WARN_MS', 60_000),
    minWaitMs: config.minWaitMs ?? number(env, 'WAITFALL_MIN_WAIT_MS', 0.2),
  };
}

function samplerOf(config: WaitfallConfig, env: NodeJS.ProcessEnv): SamplerSettings | undefined {
  const leads = env['WAITFALL_PG_LOCKS']?.trim().toLowerCase() === 'leader' ? 'leader' : undefined;
  const locks = config.pg?.locks ?? leads ?? flag(env, 'WAITFALL_PG_LOCKS', false);
  if (locks === false) return undefined;
  return {
    mode: locks === 'leader' ? 'leader' : 'each',
    gateMs: config.pg?.locksGateMs ?? number(env, 'WAITFALL_PG_LOCKS_GATE_MS', 10),
    intervalMs: config.pg?.locksIntervalMs ?? number(env, 'WAITFALL_PG_LOCKS_INTERVAL_MS', 25),
    url: config.pg?.locksUrl ?? (env['WAITFALL_PG_LOCKS_URL'] || undefined),
  };
}

function flag(env: NodeJS.ProcessEnv, name: string, otherwise: boolean): boolean {
  const text = env[name]?.trim().toLowerCase();
  if (text === undefined || text === '') return otherwise;
  return !['false', '0', 'off', 'no'].includes(text);
}

function number(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const value = Number.parseFloat(env[name] ?? '');
  return Number.isFinite(value) && value >= 0 ? value : otherwise;
}
