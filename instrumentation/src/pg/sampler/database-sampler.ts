import { trace } from '@opentelemetry/api';
import { now } from '../../core/clock.ts';
import { warnOnce } from '../../core/warn.ts';
import type { PgClient } from '../types.ts';
import { Activity, isChanging, isHidden, isWaiting, spanOf, summaryOf } from './activity.ts';
import { Foreigners } from './foreigners.ts';
import type { Holder } from './holders.ts';
import type { ActivityRow } from './lock-query.ts';
import type { SentStatement } from './observer.ts';
import { type OnExplained, SampledStatement } from './sampled-statement.ts';
import { SamplerConnection } from './sampler-connection.ts';
import { ServerClock } from './server-clock.ts';

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

/** While waits are seen it looks this much more often. */
const SEEN_FACTOR = 0.4;
/** A look may cost the server a tenth of a core: the pause after it is ten times as long. */
const PAUSE_PER_COST = 10;
const MAX_INTERVAL_MS = 500;
/** The leader looks at others this often while nobody is known to wait. */
const LEADER_IDLE_MS = 500;
const MAX_PIDS = 200;
const MAX_KNOWN_PIDS = 1_000;
/** So many statements in a row that the server does not know by their process: something stands between. */
const MAX_STRANGERS = 8;

/** One connection of the application, as far as its statements go through us. */
class Session {
  readonly client: PgClient;
  readonly queue: QueuedStatement[] = [];
  /** The statement sent last: of an idle transaction, the one whose span stands for the holder. */
  last: SampledStatement | undefined;
  /** Its process id has been noted. */
  isNoted = false;

  constructor(client: PgClient) {
    this.client = client;
  }

  get pid(): number | undefined {
    const { processID } = this.client as { processID?: unknown };
    return typeof processID === 'number' ? processID : undefined;
  }
}

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
  readonly #byPid = new Map<number, WeakRef<Session>>();
  /** Sessions with a statement on the server, the oldest first. */
  readonly #running = new Set<Session>();
  readonly #foreigners = new Foreigners();
  #timer: NodeJS.Timeout | undefined;
  #polling = false;
  #closed = false;
  #strangers = 0;
  #matched = false;
  #pollMs = 0;
  #sawWait = false;
  #polls = 0;
  #pollsWithWaits = 0;

  constructor(client: PgClient, settings: SamplerSettings, onExplained: OnExplained) {
    this.#settings = settings;
    this.#onExplained = onExplained;
    this.#connection = new SamplerConnection(client, settings.url, settings.mode === 'leader');
    if (settings.mode === 'leader') this.#arm(LEADER_IDLE_MS);
  }

  get stats(): SamplerStats {
    return {
      polls: this.#polls,
      pollsWithWaits: this.#pollsWithWaits,
      pollMs: this.#pollMs,
      leads: this.#connection.leads,
    };
  }

  sent({ client, callMs, plan, parent }: SentStatement): SampledStatement | undefined {
    if (this.#closed || this.#connection.isOff) return undefined;
    let session = this.#sessions.get(client);
    if (session === undefined) this.#sessions.set(client, (session = new Session(client)));
    if (!session.isNoted && session.pid !== undefined) {
      session.isNoted = true;
      this.#byPid.set(session.pid, new WeakRef(session));
    }
    const relation = plan.locks[0]?.relation;
    const subject = { parent, relation, uncontendedMs: plan.uncontendedMs ?? 0 };
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
    this.#running.delete(session);
    this.#running.add(session);
    if (this.#timer === undefined && !this.#polling) this.#arm(this.#settings.gateMs);
  }

  #left(session: Session, statement: QueuedStatement): void {
    const at = session.queue.indexOf(statement);
    if (at < 0) return;
    session.queue.splice(at, 1);
    const next = session.queue[0];
    if (next === undefined) this.#running.delete(session);
    else if (at === 0) this.#onServer(session, next, now());
  }

  #arm(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, delayMs).unref();
  }

  /** Decides whether the server is worth asking now, and when to look again. */
  #look(): void {
    if (this.#closed || this.#connection.isOff) return;
    const atMs = now();
    this.#forgetEnded();
    const oldestMs = this.#running.values().next().value?.queue[0]?.sentMs;
    const ageMs = oldestMs === undefined ? 0 : atMs - oldestMs;
    const isLeading = this.#settings.mode === 'leader' && this.#connection.leads;
    if (ageMs >= this.#settings.gateMs || isLeading) {
      void this.#poll();
    } else if (oldestMs !== undefined) {
      this.#arm(Math.max(1, this.#settings.gateMs - ageMs));
    } else if (this.#settings.mode === 'leader') {
      // Whoever leads may have gone.
      void this.#connection.ready().catch(() => {});
      this.#arm(LEADER_IDLE_MS);
    }
  }

  /** Statements of a connection that is gone get no reply any more. */
  #forgetEnded(): void {
    for (const session of this.#running) {
      const { _ended: ended, _queryable: queryable } = session.client;
      if (ended !== true && queryable !== false) continue;
      this.#running.delete(session);
      session.queue.length = 0;
    }
    if (this.#byPid.size <= MAX_KNOWN_PIDS) return;
    for (const [pid, session] of this.#byPid) if (session.deref() === undefined) this.#byPid.delete(pid);
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    try {
      if (await this.#connection.ready()) {
        const asked = this.#asked();
        const sentMs = now();
        const rows = await this.#connection.poll([...asked.keys()]);
        const repliedMs = now();
        this.#polls++;
        this.#pollMs += 0.2 * (repliedMs - sentMs - this.#pollMs);
        if (rows.length > 0) this.#clock.observe(sentMs, repliedMs, rows[0].clock_ms);
        this.#apply(new Activity(rows), asked, (sentMs + repliedMs) / 2);
      }
    } catch {
      // The connection tells about itself; the next look opens another one.
    } finally {
      this.#polling = false;
      const isLeader = this.#settings.mode === 'leader';
      if (!this.#closed && (this.#running.size > 0 || isLeader)) this.#arm(this.#pauseMs());
    }
  }

  #pauseMs(): number {
    const { intervalMs } = this.#settings;
    const idle = this.#running.size === 0 && this.#foreigners.isEmpty;
    const wishMs = idle ? LEADER_IDLE_MS : this.#sawWait ? intervalMs * SEEN_FACTOR : intervalMs;
    return Math.min(MAX_INTERVAL_MS, Math.max(wishMs, this.#pollMs * PAUSE_PER_COST));
  }

  /** @returns the statements to look at, by server process. */
  #asked(): Map<number, QueuedStatement> {
    const asked = new Map<number, QueuedStatement>();
    const beforeMs = now() - this.#settings.gateMs / 2;
    for (const session of this.#running) {
      const [statement] = session.queue;
      const { pid } = session;
      if (statement === undefined || pid === undefined || (statement.sentMs ?? 0) > beforeMs) continue;
      asked.set(pid, statement);
      if (asked.size === MAX_PIDS) break;
    }
    return asked;
  }

  #apply(activity: Activity, asked: Map<number, QueuedStatement>, atMs: number): void {
    this.#sawWait = false;
    for (const [pid, statement] of asked) {
      const row = activity.of(pid);
      if (!this.#isOurs(row, statement)) continue;
      if (!isWaiting(row)) {
        if (isChanging(row)) statement.seenChanging(row, atMs);
        else statement.seenBusy(row, atMs);
        continue;
      }
      this.#sawWait = true;
      const waitStartMs =
        row.wait_start_ms === null ? undefined : this.#clock.toMonotonicMs(row.wait_start_ms);
      statement.seenWaiting(row, atMs, waitStartMs, activity.rootHolders(pid), (root) =>
        this.#describe(root, activity),
      );
    }
    if (this.#sawWait) this.#pollsWithWaits++;
    if (this.#settings.mode === 'leader') this.#lookAtOthers(activity, asked, atMs);
  }

  /** A process that has begun its statement, and is still at it. */
  #isOurs(row: ActivityRow | undefined, statement: QueuedStatement): row is ActivityRow {
    if (statement.isAnswered) return false;
    if (row !== undefined && row.state === 'active') {
      this.#matched = true;
      this.#strangers = 0;
      return true;
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
      if (asked.has(row.pid) || this.#byPid.get(row.pid)?.deref() !== undefined) continue;
      const queryStartMs =
        row.query_start_ms === null ? atMs : Math.min(atMs, this.#clock.toMonotonicMs(row.query_start_ms));
      const waitStartMs =
        row.wait_start_ms === null ? undefined : this.#clock.toMonotonicMs(row.wait_start_ms);
      this.#foreigners.see(row, queryStartMs, atMs, waitStartMs, activity.rootHolders(row.pid), (root) =>
        this.#describe(root, activity),
      );
    }
    this.#foreigners.leave(activity, atMs);
  }

  #describe(pid: number, activity: Activity): Holder {
    const row = activity.of(pid);
    const own = this.#ownOf(pid);
    if (row === undefined) {
      return {
        pid,
        span: own,
        statement: undefined,
        state: pid === 0 ? 'prepared' : undefined,
        ageMs: undefined,
      };
    }
    if (isHidden(row)) {
      warnOnce(
        'sampler-privileges',
        'a lock is held by a session of another database role: the lock sampler sees that it holds, not what it ' +
          'runs; grant pg_read_all_stats to the role of the application to see that too',
      );
    }
    return {
      pid,
      span: own ?? spanOf(row),
      statement: summaryOf(row),
      state: row.state ?? undefined,
      ageMs: row.xact_start_ms === null ? undefined : Math.max(0, row.clock_ms - row.xact_start_ms),
    };
  }

  /** @returns the span of the last statement of a connection of this process, running or not. */
  #ownOf(pid: number): ReturnType<typeof trace.getSpanContext> {
    const session = this.#byPid.get(pid)?.deref();
    if (session === undefined || session.pid !== pid || session.last === undefined) return undefined;
    return trace.getSpanContext(session.last.subject.parent);
  }
}

/** A statement of this process: it stands in the queue of its connection. */
class QueuedStatement extends SampledStatement {
  readonly #onReply: () => void;
  isAnswered = false;

  constructor(subject: SampledStatement['subject'], onExplained: OnExplained, onReply: () => void) {
    super(subject, onExplained);
    this.#onReply = onReply;
  }

  override replied(answeredMs: number): void {
    this.isAnswered = true;
    super.replied(answeredMs);
    this.#onReply();
  }
}
