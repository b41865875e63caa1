import { now } from '../../core/clock.ts';
import type { PgClient } from '../types.ts';
import { Activity, isChanging, isWaiting } from './activity.ts';
import { BackendCheck } from './backend-check.ts';
import { Connections } from './connections.ts';
import { Foreigners } from './foreigners.ts';
import type { SentStatement } from './observer.ts';
import { LEADER_IDLE_MS, PollSchedule, type SamplerSettings } from './poll-schedule.ts';
import type { OnExplained, SampledStatement } from './sampled-statement.ts';
import { SamplerConnection } from './sampler-connection.ts';
import type { Look } from './seen-wait.ts';
import { ServerClock } from './server-clock.ts';
import { QueuedStatement, Session } from './session.ts';

const MAX_PIDS = 200;
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
  readonly #schedule: PollSchedule;
  readonly #backends = new BackendCheck(this.#clock, (reason) => this.#connection.turnOff(reason));
  #timer: NodeJS.Timeout | undefined;
  #timerMs = Number.POSITIVE_INFINITY;
  #polling = false;
  #closed = false;
  #polls = 0;
  #pollsWithWaits = 0;

  constructor(client: PgClient, settings: SamplerSettings, onExplained: OnExplained) {
    this.#settings = settings;
    this.#schedule = new PollSchedule(settings);
    this.#onExplained = onExplained;
    this.#connection = new SamplerConnection(client, settings.url, settings.mode === 'leader');
    if (settings.mode === 'leader') this.#arm(now() + LEADER_IDLE_MS);
  }

  get stats(): SamplerStats {
    return {
      polls: this.#polls,
      pollsWithWaits: this.#pollsWithWaits,
      pollMs: this.#schedule.pollMs,
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
    const subject = { parent, relation, uncontendedMs: plan.timing.uncontended.median ?? 0 };
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
    const first = Array.from(this.#running, ({ queue }) => queue[0]);
    return this.#schedule.nextMs(first, !this.#foreigners.isEmpty);
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
    let asked = false;
    try {
      if (await this.#connection.ready()) {
        await this.#ask();
        asked = true;
      }
    } catch {
      // The connection tells about itself; a later look opens another one.
    } finally {
      this.#polling = false;
      this.#schedule.looked(asked);
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
    this.#schedule.answered(repliedMs - sentMs);
    if (rows.length > 0) this.#clock.observe(sentMs, repliedMs, rows[0].clock_ms);
    this.#apply(new Activity(rows), asked, { sentMs, repliedMs });
  }

  /** @returns the statements to look at, by server process; those that are due soon go along. */
  #asked(atMs: number): Map<number, QueuedStatement> {
    const asked = new Map<number, QueuedStatement>();
    for (const { queue, pid } of this.#running) {
      const [statement] = queue;
      if (pid === undefined || this.#schedule.dueMs(statement) > atMs + this.#settings.gateMs / 2) continue;
      statement.askedMs = atMs;
      asked.set(pid, statement);
      if (asked.size === MAX_PIDS) break;
    }
    return asked;
  }

  #apply(activity: Activity, asked: Map<number, QueuedStatement>, look: Look): void {
    let sawWait = false;
    for (const [pid, statement] of asked) {
      const row = activity.of(pid);
      if (!this.#backends.isOurs(row, statement)) continue;
      if (!isWaiting(row)) {
        if (isChanging(row)) statement.seenChanging(row, look);
        else statement.seenBusy(row, look);
        continue;
      }
      sawWait = true;
      const waitStartMs =
        row.wait_start_ms === null ? undefined : this.#clock.toMonotonicMs(row.wait_start_ms);
      statement.seenWaiting(row, look, waitStartMs, activity.rootHolders(pid), (root) =>
        this.#connections.describe(root, activity),
      );
    }
    if (sawWait) this.#pollsWithWaits++;
    if (this.#settings.mode === 'leader') this.#lookAtOthers(activity, asked, look);
  }

  #lookAtOthers(activity: Activity, asked: ReadonlyMap<number, unknown>, look: Look): void {
    const { repliedMs } = look;
    for (const row of activity.rows) {
      if (asked.has(row.pid) || this.#connections.has(row.pid)) continue;
      const queryStartMs =
        row.query_start_ms === null
          ? repliedMs
          : Math.min(repliedMs, this.#clock.toMonotonicMs(row.query_start_ms));
      const waitStartMs =
        row.wait_start_ms === null ? undefined : this.#clock.toMonotonicMs(row.wait_start_ms);
      this.#foreigners.see(row, queryStartMs, look, waitStartMs, activity.rootHolders(row.pid), (root) =>
        this.#connections.describe(root, activity),
      );
    }
    this.#foreigners.leave(activity, look);
  }
}
