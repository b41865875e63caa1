import { now } from '../../core/clock.ts';
import type { PgClient } from '../types.ts';
import { Activity, isChanging, isHidden, isWaiting } from './activity.ts';
import { Connections, MAX_EARLY_MS } from './connections.ts';
import { Foreigners } from './foreigners.ts';
import type { ActivityRow } from './lock-query.ts';
import type { SentStatement } from './observer.ts';
import type { OnExplained, SampledStatement } from './sampled-statement.ts';
import { SamplerConnection } from './sampler-connection.ts';
import { ServerClock } from './server-clock.ts';
import { QueuedStatement, Session } from './session.ts';

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
const LEADER_IDLE_MS = 500;
const MAX_PIDS = 200;
/** So many statements in a row that the server does not know by their process: something stands between. */
const MAX_STRANGERS = 5;

export interface SamplerStats {
  readonly polls: number;
  /** Polls that saw a statement of this process waiting for a lock. */
  readonly pollsWithWaits: number;
  readonly pollMs: number;
  readonly leads: boolean;
}

/** Looks at the statements of this process that run in one database. */
export class DatabaseSampler {
  readonly #settings: SamplerSettings;
  readonly #onExplained: OnExplained;
  readonly #connection: SamplerConnection;
  readonly #clock = new ServerClock();
  readonly #sessions = new WeakMap<PgClient, Session>();
  readonly #connections = new Connections(this.#clock);
  /** Sessions with a statement on the server. */
  readonly #running = new Set<Session>();
  readonly #foreigners = new Foreigners();
  #timer: NodeJS.Timeout | undefined;
  #timerMs = Number.POSITIVE_INFINITY;
  #notBeforeMs = 0;
  #polling = false;
  #closed = false;
  #strangers = 0;
  #matched = false;
  #pollMs = 0;
  #polledMs = 0;
  #polls = 0;
  #pollsWithWaits = 0;

  constructor(client: PgClient, settings: SamplerSettings, onExplained: OnExplained) {
    this.#settings = settings;
    this.#onExplained = onExplained;
    this.#connection = new SamplerConnection(client, settings.url, settings.mode === 'leader');
    if (settings.mode === 'leader') this.#arm(now() + LEADER_IDLE_MS);
  }

  get stats(): SamplerStats {
    return {
      polls: this.#polls,
      pollsWithWaits: this.#pollsWithWaits,
      pollMs: this.#pollMs,
      leads: this.#connection.leads,
    };
  }

  sent({ client, callMs, plan, parent, isSampled }: SentStatement): SampledStatement | undefined {
    if (this.#closed || this.#connection.isOff) return undefined;
    let session = this.#sessions.get(client);
    if (!isSampled) {
      if (session !== undefined) session.last = undefined;
      return undefined;
    }
    if (session === undefined) this.#sessions.set(client, (session = new Session(client)));
    const { pid } = session;
    if (pid === undefined) return undefined;
    this.#connections.note(session, pid);
    const relation = plan.locks.find((lock) => lock.guessed !== true)?.relation;
    const subject = { parent, relation, uncontendedMs: plan.timing.uncontendedMs ?? 0 };
    const statement: QueuedStatement = new QueuedStatement(subject, this.#onExplained, () =>
      this.#left(session, statement),
    );
    session.queue.push(statement);
    if (session.queue.length === 1) this.#onServer(session, statement, callMs);
    return statement;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#foreigners.close(now());
    this.#connection.close();
  }

  #onServer(session: Session, statement: QueuedStatement, sentMs: number): void {
    statement.sentMs = sentMs;
    session.last = statement;
    this.#running.add(session);
    const dueMs = sentMs + this.#settings.gateMs;
    // Short statements come by the thousand: the first sets the timer, the others find it set.
    if (!this.#polling && this.#timerMs > dueMs + 1) this.#arm(dueMs);
  }

  #left(session: Session, statement: QueuedStatement): void {
    const at = session.queue.indexOf(statement);
    if (at < 0) return;
    session.queue.splice(at, 1);
    const next = session.queue[0];
    if (next === undefined) this.#running.delete(session);
    else if (at === 0) this.#onServer(session, next, now());
  }

  #arm(dueMs: number): void {
    clearTimeout(this.#timer);
    this.#timerMs = dueMs;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#timerMs = Number.POSITIVE_INFINITY;
        this.#guarded(() => this.#look());
      },
      Math.max(1, dueMs - now()),
    ).unref();
  }

  /** Decides whether the server is worth asking now, and when to look again. */
  #look(): void {
    if (this.#closed || this.#connection.isOff) return;
    this.#forgetEnded();
    const dueMs = this.#nextDueMs();
    if (dueMs <= now()) this.#poll().catch((error) => this.#gaveUp(error));
    else if (dueMs < Number.POSITIVE_INFINITY) this.#arm(dueMs);
  }

  /** Nothing of ours may end in the service, least of all from a timer. */
  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#gaveUp(error);
    }
  }

  #gaveUp(error: unknown): void {
    this.#connection.turnOff(`the lock sampler failed and is off: ${String(error)}`);
  }

  /** @returns when a statement, or the leader, is due next; infinite when nobody is. */
  #nextDueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const { queue } of this.#running) dueMs = Math.min(dueMs, this.#dueMs(queue[0]));
    if (this.#settings.mode === 'leader') dueMs = Math.min(dueMs, this.#leaderDueMs());
    return Math.max(dueMs, this.#notBeforeMs);
  }

  #dueMs(statement: QueuedStatement): number {
    const { gateMs, intervalMs } = this.#settings;
    const { sentMs = 0, askedMs } = statement;
    if (askedMs === undefined) return sentMs + gateMs;
    const wishMs = statement.isWaiting ? intervalMs * SEEN_FACTOR : intervalMs;
    return askedMs + Math.min(MAX_INTERVAL_MS, Math.max(wishMs, INTERVAL_PER_AGE * (askedMs - sentMs)));
  }

  #leaderDueMs(): number {
    return this.#polledMs + (this.#foreigners.isEmpty ? LEADER_IDLE_MS : this.#settings.intervalMs);
  }

  #forgetEnded(): void {
    for (const session of this.#running) {
      if (!session.isEnded) continue;
      this.#running.delete(session);
      session.queue.length = 0;
    }
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    let pauseMs = NOT_READY_PAUSE_MS;
    try {
      if (await this.#connection.ready()) {
        await this.#ask();
        pauseMs = Math.min(MAX_PAUSE_MS, this.#pollMs * PAUSE_PER_COST);
      }
    } catch {
      // The connection tells about itself; a later look opens another one.
    } finally {
      this.#polling = false;
      const atMs = now();
      this.#polledMs = atMs;
      this.#notBeforeMs = atMs + pauseMs;
      if (!this.#closed && !this.#connection.isOff) {
        const dueMs = this.#nextDueMs();
        if (dueMs < Number.POSITIVE_INFINITY) this.#arm(dueMs);
      }
    }
  }

  async #ask(): Promise<void> {
    const sentMs = now();
    const asked = this.#asked(sentMs);
    const rows = await this.#connection.poll([...asked.keys()], this.#settings.mode === 'leader');
    const repliedMs = now();
    this.#polls++;
    this.#pollMs += 0.2 * (repliedMs - sentMs - this.#pollMs);
    if (rows.length > 0) this.#clock.observe(sentMs, repliedMs, rows[0].clock_ms);
    this.#apply(new Activity(rows), asked, (sentMs + repliedMs) / 2);
  }

  /** @returns the statements to look at, by server process; those that are due soon go along. */
  #asked(atMs: number): Map<number, QueuedStatement> {
    const asked = new Map<number, QueuedStatement>();
    for (const { queue, pid } of this.#running) {
      const [statement] = queue;
      if (pid === undefined || this.#dueMs(statement) > atMs + this.#settings.gateMs / 2) continue;
      statement.askedMs = atMs;
      asked.set(pid, statement);
      if (asked.size === MAX_PIDS) break;
    }
    return asked;
  }

  #apply(activity: Activity, asked: Map<number, QueuedStatement>, atMs: number): void {
    let sawWait = false;
    for (const [pid, statement] of asked) {
      const row = activity.of(pid);
      if (!this.#isOurs(row, statement)) continue;
      if (!isWaiting(row)) {
        if (isChanging(row)) statement.seenChanging(row, atMs);
        else statement.seenBusy(row, atMs);
        continue;
      }
      sawWait = true;
      const waitStartMs =
        row.wait_start_ms === null ? undefined : this.#clock.toMonotonicMs(row.wait_start_ms);
      statement.seenWaiting(row, atMs, waitStartMs, activity.rootHolders(pid), (root) =>
        this.#connections.describe(root, activity),
      );
    }
    if (sawWait) this.#pollsWithWaits++;
    if (this.#settings.mode === 'leader') this.#lookAtOthers(activity, asked, atMs);
  }

  /** A process that has begun its statement, and is still at it. */
  #isOurs(row: ActivityRow | undefined, statement: QueuedStatement): row is ActivityRow {
    if (statement.isAnswered) return false;
    if (row?.state === 'disabled') {
      this.#connection.turnOff(
        'the server has track_activities off: the lock sampler sees nothing and is off',
      );
      return false;
    }
    if (row !== undefined && (row.state === 'active' || isHidden(row))) {
      this.#matched = true;
      this.#strangers = 0;
      // Still the statement before: one of a request that is not sampled, in the same client's queue.
      const startMs = row.query_start_ms === null ? undefined : this.#clock.toMonotonicMs(row.query_start_ms);
      return startMs === undefined || startMs >= (statement.sentMs ?? 0) - MAX_EARLY_MS;
    }
    // A reply on its way looks the same for a moment; a stranger does so always.
    if (!this.#matched && ++this.#strangers >= MAX_STRANGERS) {
      this.#connection.turnOff(
        'statements of this process are not found on the server under their process ids: a pooler like pgbouncer ' +
          'stands between, and the lock sampler is off',
      );
    }
    return false;
  }

  #lookAtOthers(activity: Activity, asked: ReadonlyMap<number, unknown>, atMs: number): void {
    for (const row of activity.rows) {
      if (asked.has(row.pid) || this.#connections.has(row.pid)) continue;
      const queryStartMs =
        row.query_start_ms === null ? atMs : Math.min(atMs, this.#clock.toMonotonicMs(row.query_start_ms));
      const waitStartMs =
        row.wait_start_ms === null ? undefined : this.#clock.toMonotonicMs(row.wait_start_ms);
      this.#foreigners.see(row, queryStartMs, atMs, waitStartMs, activity.rootHolders(row.pid), (root) =>
        this.#connections.describe(root, activity),
      );
    }
    this.#foreigners.leave(activity, atMs);
  }
}
