import type { InstrumentationConfig } from '@opentelemetry/instrumentation';
import { type PartSettings, type PartsConfig, partSettingsOf } from './part-settings.ts';

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
    adapters: config.adapters ?? flag(env, 'WAITFALL_ADAPTERS', true),
    queueHeader: config.http?.queueHeader ?? flag(env, 'WAITFALL_QUEUE_HEADER', false),
    holdWarnMs: config.holdWarnMs ?? number(env, 'WAITFALL_HOLD_WARN_MS', 60_000),
    minWaitMs: config.minWaitMs ?? number(env, 'WAITFALL_MIN_WAIT_MS', 0.2),
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
