import { now } from '../../core/clock.ts';
import type { QueuedStatement } from './session.ts';

/** How often, and how long after a statement was sent, the server is asked. */
export interface SamplerSettings {
  readonly mode: 'each' | 'leader';
  /** Statements younger than this are nobody's trouble. */
  readonly gateMs: number;
  /** Time between two looks while a statement is older than the gate. */
  readonly intervalMs: number;
  /** Another way to the server than the application's. */
  readonly url: string | undefined;
}

/** A statement that waits is looked at this much more often. */
const SEEN_FACTOR = 0.4;
/** The older a statement, the less does the time between two looks matter: this share of its age is enough. */
const INTERVAL_PER_AGE = 0.05;
const MAX_INTERVAL_MS = 1_000;
/** A look may cost the server a tenth of a core: the pause after it is ten times as long. */
const PAUSE_PER_COST = 10;
const MAX_PAUSE_MS = 500;
/** Without a connection, or behind a leader, there is nothing to ask for a while. */
const NOT_READY_PAUSE_MS = 250;
/** The leader looks at others this often while nobody is known to wait. */
export const LEADER_IDLE_MS = 500;
/** Of the mean round trip of a poll, each new one counts this much. */
const NEWEST_SHARE = 0.2;

/** Decides when the server is worth asking: seldom where that costs it much, and not at all while nobody is slow. */
export class PollSchedule {
  readonly #settings: SamplerSettings;
  #notBeforeMs = 0;
  #polledMs = 0;
  #pollMs = 0;

  constructor(settings: SamplerSettings) {
    this.#settings = settings;
  }

  /** Mean round trip of a poll, ms. */
  get pollMs(): number {
    return this.#pollMs;
  }

  answered(tookMs: number): void {
    this.#pollMs += NEWEST_SHARE * (tookMs - this.#pollMs);
  }

  /** A look has ended. @param asked whether the server was asked in it. */
  looked(asked: boolean): void {
    this.#polledMs = now();
    const pauseMs = asked ? Math.min(MAX_PAUSE_MS, this.#pollMs * PAUSE_PER_COST) : NOT_READY_PAUSE_MS;
    this.#notBeforeMs = this.#polledMs + pauseMs;
  }

  /** @returns when a statement is to be looked at next. */
  dueMs(statement: QueuedStatement): number {
    const { gateMs, intervalMs } = this.#settings;
    const { sentMs = 0, askedMs } = statement;
    if (askedMs === undefined) return sentMs + gateMs;
    const wishMs = statement.isWaiting ? intervalMs * SEEN_FACTOR : intervalMs;
    return askedMs + Math.min(MAX_INTERVAL_MS, Math.max(wishMs, INTERVAL_PER_AGE * (askedMs - sentMs)));
  }

  /**
   * @param others whether statements of other processes are known to wait; the leader looks at them.
   * @returns when the server is to be asked next; infinite while there is nothing to ask.
   */
  nextMs(statements: Iterable<QueuedStatement>, others: boolean): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const statement of statements) dueMs = Math.min(dueMs, this.dueMs(statement));
    if (this.#settings.mode === 'leader') {
      dueMs = Math.min(dueMs, this.#polledMs + (others ? this.#settings.intervalMs : LEADER_IDLE_MS));
    }
    return Math.max(dueMs, this.#notBeforeMs);
  }
}
