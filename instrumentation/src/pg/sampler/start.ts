import { type Context, diag } from '@opentelemetry/api';
import { onShutdown } from '../../core/shutdown.ts';
import { warnOnce } from '../../core/warn.ts';
import type { InferredWait } from '../locks/infer-wait.ts';
import type { PgClient } from '../types.ts';
import { Comparison } from './comparison.ts';
import { DatabaseSampler, type SamplerStats } from './database-sampler.ts';
import type { ObservedStatement, SentStatement, StatementObserver } from './observer.ts';
import { setStatementObserver } from './observer.ts';
import type { SamplerSettings } from './poll-schedule.ts';

/** A service talks to few databases; more are most likely one per tenant. */
const MAX_DATABASES = 4;

/** One sampler per database of this process, made when its first statement is sent. */
class LockSampler implements StatementObserver {
  readonly #settings: SamplerSettings;
  readonly #samplers = new Map<string, DatabaseSampler>();
  readonly comparison = new Comparison();

  constructor(settings: SamplerSettings) {
    this.#settings = settings;
  }

  get stats(): SamplerStats[] {
    return [...this.#samplers.values()].map((sampler) => sampler.stats);
  }

  sent(statement: SentStatement): ObservedStatement | undefined {
    return this.#samplerOf(statement.client)?.sent(statement);
  }

  recorded(parent: Context, wait: InferredWait): void {
    // A wait that was only seen is no second record of itself.
    if (wait.evidence === undefined) this.comparison.recordedWait(parent, wait.endMs - wait.startMs);
  }

  close(): void {
    const text = this.comparison.toString();
    if (this.comparison.recorded > 0) diag.info(`waitfall: lock sampler: ${text}`);
    for (const sampler of this.#samplers.values()) sampler.close();
    this.#samplers.clear();
  }

  #samplerOf(client: PgClient): DatabaseSampler | undefined {
    const { host, port, database } = client.connectionParameters ?? client;
    const key = `${host}:${port}/${database}`;
    const known = this.#samplers.get(key);
    if (known !== undefined) return known;
    if (this.#samplers.size === MAX_DATABASES) {
      warnOnce('sampler-databases', `the lock sampler looks at ${MAX_DATABASES} databases at most`);
      return undefined;
    }
    const sampler = new DatabaseSampler(client, this.#settings, (parent, wait) =>
      this.comparison.sampled(parent, wait),
    );
    this.#samplers.set(key, sampler);
    return sampler;
  }
}

let running: LockSampler | undefined;

/** Begins to look at the statements of this process that run long; another call changes how. */
export function startLockSampler(settings: SamplerSettings): void {
  stopLockSampler();
  running = new LockSampler(settings);
  setStatementObserver(running);
}

export function stopLockSampler(): void {
  setStatementObserver(undefined);
  running?.close();
  running = undefined;
}

onShutdown(stopLockSampler);

/** @returns what the sampler has done so far, and how its waits compare with those recorded without it. */
export function lockSamplerReport(): { databases: SamplerStats[]; comparison: Comparison } | undefined {
  return running && { databases: running.stats, comparison: running.comparison };
}
