import type { Context } from '@opentelemetry/api';
import type { Outcome } from '../../conventions.ts';
import { now } from '../../core/clock.ts';
import { type Linked, LinkedList } from '../../core/linked-list.ts';
import { onShutdown } from '../../core/shutdown.ts';
import type { ObservedStatement } from '../sampler/observer.ts';
import { isExclusive, type LockMode, type TransactionOp } from '../sql/plan.ts';
import { type CachedPlan, learnUncontended } from '../sql/plan-cache.ts';
import type { PgClient } from '../types.ts';
import { type Claim, claimOf } from './claim.ts';
import { emitLock } from './emit-lock.ts';
import { type Attempt, holdsInTheWay, inferWait, undecidedRow } from './infer-wait.ts';
import { REFUSALS } from './refusals.ts';
import type { LockHold, LockOwner, Row } from './row.ts';
import type { DatabaseRows } from './rows.ts';
import { Savepoints } from './savepoints.ts';

/** A second grant is confirmed to contradict the first hold only after this: an error may be on its way. */
const CONTRADICTION_CHECK_MS = 5;

/** When a statement was sent and answered, monotonic ms. */
interface Reply {
  readonly sentMs: number;
  /** Reply, minus the longest time it may have lain in the event loop. */
  readonly answeredMs: number;
  readonly repliedMs: number;
}

/** A statement between its call and its reply. */
export interface Running {
  readonly plan: CachedPlan;
  readonly callMs: number;
  /** Set once the statement's own span is known. */
  parent: Context;
  hasStatementSpan: boolean;
  readonly claims: readonly Claim[];
  /** Rows of locks beyond transactions that it gives back. */
  readonly unlocks: readonly Row[] | 'all';
  /** What the sampler sees of it, where one runs. */
  seen?: ObservedStatement;
}

interface OpenHold {
  readonly hold: LockHold;
  readonly claim: Claim;
  attempt: Attempt | undefined;
}

const open = new LinkedList<ConnectionLocks>();
const NO_ROWS: readonly Row[] = [];

onShutdown(() => {
  for (const connection of open.items()) connection.disconnected();
});

/** @returns how many row locks are recorded as held now. */
export function openLocks(): number {
  let count = 0;
  for (const connection of open.items()) count += connection.held;
  return count;
}

/**
 * The row locks of one connection, read from the statements that pass through it. It sends nothing itself:
 * grants are replies of locking statements, releases are replies of COMMIT and ROLLBACK, or errors.
 */
export class ConnectionLocks implements LockOwner, Linked<ConnectionLocks> {
  previous: ConnectionLocks | undefined = undefined;
  next: ConnectionLocks | undefined = undefined;
  isListed = false;
  readonly #rows: DatabaseRows;
  readonly #running: Running[] = [];
  #held: OpenHold[] = [];
  /** What is held beyond transactions: advisory locks of the session. */
  #session: OpenHold[] = [];
  readonly #savepoints = new Savepoints();
  #inTransaction = false;
  #lastReplyMs = 0;

  constructor(rows: DatabaseRows) {
    this.#rows = rows;
  }

  get isActive(): boolean {
    return this.#running.length > 0;
  }

  get held(): number {
    return this.#held.length + this.#session.length;
  }

  /** @returns whether the next statement must be watched even if it neither locks nor ends anything. */
  get isInvolved(): boolean {
    return this.#inTransaction || this.#running.length > 0;
  }

  /** Called before a statement is handed to the client. */
  sent(plan: CachedPlan, values: readonly unknown[] | undefined, parent: Context): Running {
    const callMs = now();
    const claims: Claim[] = [];
    for (const lock of plan.locks) {
      for (const row of this.#rows.find(lock, values)) claims.push(claimOf(row, lock, this, callMs));
    }
    for (const claim of claims) claim.row.inFlight++;
    const unlocks = this.#unlocksOf(plan, values);
    const running: Running = { plan, callMs, parent, hasStatementSpan: false, claims, unlocks };
    this.#running.push(running);
    if (this.#running.length === 1) this.#endSent(running, callMs);
    return running;
  }

  #unlocksOf(plan: CachedPlan, values: readonly unknown[] | undefined): readonly Row[] | 'all' {
    if (plan.unlocks.length === 0) return NO_ROWS;
    if (plan.unlocks.includes('all')) return 'all';
    return plan.unlocks.flatMap((unlock) => (unlock === 'all' ? [] : this.#rows.find(unlock, values)));
  }

  /**
   * Called with the reply of a statement, before the service sees it.
   *
   * @param loopWaitMs the longest time the reply may have lain in the event loop.
   */
  replied(
    running: Running,
    client: PgClient,
    error: unknown,
    rowCount: number | null | undefined,
    loopWaitMs: number,
  ): void {
    const repliedMs = now();
    const sentMs = Math.max(running.callMs, this.#lastReplyMs);
    const answeredMs = Math.max(sentMs, repliedMs - loopWaitMs);
    const reply: Reply = { sentMs, answeredMs, repliedMs };
    const position = this.#running.indexOf(running);
    if (position < 0) return;
    this.#running.splice(position, 1);
    this.#lastReplyMs = repliedMs;
    for (const claim of running.claims) claim.row.inFlight--;
    const status = client.getTransactionStatus?.();
    if (error !== undefined && error !== null) {
      this.#failed(running, client, error, reply);
    } else {
      this.#succeeded(running, status, rowCount, reply);
    }
    for (const claim of running.claims) claim.row.prune();
    // The next statement in the client's queue goes out now.
    if (this.#running.length > 0) this.#endSent(this.#running[0], repliedMs);
  }

  /** The connection is gone, and its locks with it. */
  disconnected(): void {
    const atMs = now();
    for (const running of this.#running.splice(0)) {
      for (const claim of running.claims) claim.row.inFlight--;
    }
    const reply = { sentMs: atMs, answeredMs: atMs, repliedMs: atMs };
    this.#release(0, reply);
    this.#releaseSession('all', reply);
    this.#inTransaction = false;
    this.#savepoints.clear();
  }

  #succeeded(
    running: Running,
    status: 'I' | 'T' | 'E' | null | undefined,
    rowCount: number | null | undefined,
    reply: Reply,
  ): void {
    const { plan } = running;
    this.#control(plan.transaction, reply);
    if (status === 'T' || status === 'E') this.#inTransaction = true;
    else if (status === 'I') this.#inTransaction = false;
    this.#releaseSession(running.unlocks, reply);
    const sole = plan.statements === 1 && plan.locks.filter((lock) => lock.guessed !== true).length === 1;
    for (const claim of running.claims) {
      if (claim.lock.onConflict === 'skip' && (!sole || !rowCount)) continue;
      const nothing = sole && rowCount === 0 && claim.lock.guessed !== true;
      this.#answered(running, claim, nothing ? 'nothing' : 'granted', reply, {
        countsRows: sole ? (rowCount ?? null) : null,
      });
    }
    if (!this.#inTransaction && this.#held.length > 0) this.#endTransaction(reply);
  }

  /** A statement that controls the transaction has succeeded. */
  #control(op: TransactionOp | null, reply: Reply): void {
    switch (op?.op) {
      case 'begin':
        this.#inTransaction = true;
        break;
      case 'savepoint':
        this.#savepoints.set(op.name, this.#held.length);
        break;
      case 'release':
        this.#savepoints.release(op.name);
        break;
      case 'rollback-to':
        this.#release(this.#savepoints.rollbackTo(op.name) ?? this.#held.length, reply);
        break;
      case 'prepare':
        this.#forget();
        break;
      case 'commit':
      case 'rollback':
        this.#endTransaction(reply);
        this.#inTransaction = false;
        break;
    }
  }

  #failed(running: Running, client: PgClient, error: unknown, reply: Reply): void {
    const { code, severity } = error as { code?: unknown; severity?: unknown };
    if (typeof code !== 'string' || severity === undefined) {
      // Not the server's answer: a broken connection frees the locks, a client-side timeout does not.
      if (client._queryable === false || client._ended === true) this.disconnected();
      return;
    }
    for (const claim of running.claims) {
      const refusal = REFUSALS[code];
      if (claim.lock.onConflict === 'nowait' && code === '55P03') {
        this.#emitRefused(running, claim, null, reply.answeredMs, 'rejected', code);
      } else if (claim.lock.onConflict === 'block') {
        this.#answered(running, claim, refusal === undefined ? 'nothing' : 'refused', reply, {
          outcome: refusal,
          errorType: code,
        });
      }
    }
    if (!this.#inTransaction) return;
    // The error has aborted the transaction, or what came after its last savepoint: those locks are free.
    this.#release(this.#savepoints.keptOnError, reply);
  }

  #answered(
    running: Running,
    claim: Claim,
    result: Attempt['result'],
    reply: Reply,
    detail: { countsRows?: number | null; outcome?: Outcome; errorType?: string },
  ): void {
    const { row, lock } = claim;
    const autocommit = !this.#inTransaction && lock.session !== true;
    const held = lock.session === true ? this.#session : this.#held;
    const inTheWay = lock.onConflict === 'block' ? holdsInTheWay(row, lock.mode, this, reply.sentMs) : [];
    const { seen } = running;
    if (inTheWay.length > 0) seen?.explain(lock.relation);
    if (inTheWay.length === 0 && lock.onConflict === 'block' && seen?.sawWait !== true)
      learnUncontended(running.plan, reply.answeredMs - reply.sentMs);
    const attempt: Attempt = {
      ...reply,
      uncontendedMs: running.plan.uncontendedMs ?? 0,
      autocommit,
      result,
      inTheWay,
    };
    if (result === 'granted' && !held.some(({ hold }) => hold.row === row && covers(hold.mode, lock.mode))) {
      const hold: LockHold = {
        row,
        mode: lock.mode,
        summary: lock.summary,
        owner: this,
        parent: running.parent,
        hasStatementSpan: running.hasStatementSpan,
        autocommit,
        grantedMs: reply.answeredMs,
        endSentMs: undefined,
        releasedMs: undefined,
        endRepliedMs: reply.repliedMs,
        contradicted: false,
      };
      this.#checkContradiction(hold);
      row.holds.push(hold);
      held.push({
        hold,
        claim,
        attempt: seen === undefined ? attempt : { ...attempt, seen: seen.take(lock.relation) },
      });
      open.add(this);
      const severalRows = !row.identifies && detail.countsRows !== null && (detail.countsRows ?? 1) > 1;
      if (severalRows) this.#several.add(hold);
      return;
    }
    if (inTheWay.length === 0) return;
    this.#whenDecided(attempt, () => {
      const wait = inferWait(attempt);
      if (wait !== null) {
        this.#emitRefused(
          running,
          claim,
          wait,
          reply.answeredMs,
          detail.outcome ?? 'acquired',
          detail.outcome && detail.errorType,
        );
      }
    });
  }

  /** Holds whose predicate matched several rows: their waits are real, but they are no queue for one row. */
  readonly #several = new WeakSet<LockHold>();

  #emitRefused(
    running: Running,
    claim: Claim,
    wait: ReturnType<typeof inferWait>,
    atMs: number,
    outcome: Outcome,
    errorType: string | undefined,
  ): void {
    emitLock({
      rows: this.#rows,
      row: claim.row,
      parent: running.parent,
      hasStatementSpan: running.hasStatementSpan,
      wait,
      grantedMs: atMs,
      outcome,
      errorType,
      inUse: claim.inUse,
      queueDepth: claim.queueDepth,
      blocker: claim.blocker,
      holdMs: undefined,
      guessed: claim.lock.guessed === true,
      autocommit: false,
    });
  }

  #whenDecided(attempt: Attempt, then: () => void): void {
    const row = undecidedRow(attempt);
    if (row === undefined) then();
    else row.onRelease.push(() => this.#whenDecided(attempt, then));
  }

  /** COMMIT or ROLLBACK goes out: from here on the next in line may get the rows at any time. */
  #endSent(running: Running, atMs: number): void {
    if (running.unlocks === 'all' || running.unlocks.length > 0) {
      for (const { hold } of this.#unlocked(running.unlocks)) hold.endSentMs ??= atMs;
    }
    const op = running.plan.transaction?.op;
    if (op !== 'commit' && op !== 'rollback') return;
    for (const { hold } of this.#held) hold.endSentMs ??= atMs;
  }

  #endTransaction(reply: Reply): void {
    this.#release(0, reply);
    this.#savepoints.clear();
  }

  #release(from: number, reply: Reply): void {
    if (this.#held.length > from) this.#end(this.#held.splice(from), reply);
  }

  #unlocked(rows: readonly Row[] | 'all'): OpenHold[] {
    return rows === 'all' ? this.#session : this.#session.filter(({ hold }) => rows.includes(hold.row));
  }

  /** Locks beyond transactions were given back. */
  #releaseSession(rows: readonly Row[] | 'all', reply: Reply): void {
    if (this.#session.length === 0 || rows.length === 0) return;
    const released = this.#unlocked(rows);
    this.#session = this.#session.filter((entry) => !released.includes(entry));
    this.#end(released, reply);
  }

  #end(released: readonly OpenHold[], reply: Reply): void {
    for (const { hold } of released) {
      hold.endSentMs ??= reply.sentMs;
      hold.releasedMs = Math.max(hold.endSentMs, reply.answeredMs, hold.grantedMs);
      hold.endRepliedMs = reply.repliedMs;
    }
    if (this.held === 0) open.delete(this);
    for (const entry of released) this.#emitHold(entry);
    for (const { hold } of released) {
      hold.row.released();
      hold.row.prune();
    }
  }

  #emitHold(entry: OpenHold): void {
    const { hold, claim, attempt } = entry;
    if (attempt === undefined) return;
    entry.attempt = undefined;
    this.#whenDecided(attempt, () => {
      if (hold.contradicted) return;
      const wait = inferWait(attempt) ?? attempt.seen ?? null;
      const isOneRow = isExclusive(hold.mode) && !this.#several.has(hold);
      if (wait === null && !isOneRow) return;
      const countsAsHold = isOneRow && !hold.autocommit;
      // A reply corrected for too long a stay in the event loop seems to come before the wait had ended.
      const heldFromMs = Math.max(hold.grantedMs, wait?.endMs ?? 0);
      emitLock({
        rows: this.#rows,
        row: hold.row,
        parent: hold.parent,
        hasStatementSpan: hold.hasStatementSpan,
        wait,
        grantedMs: hold.grantedMs,
        outcome: 'acquired',
        errorType: undefined,
        inUse: claim.inUse,
        queueDepth: claim.queueDepth,
        blocker: claim.blocker,
        holdMs: countsAsHold ? Math.max(0, releaseSeenByNext(hold) - heldFromMs) : undefined,
        guessed: claim.lock.guessed === true,
        autocommit: hold.autocommit,
      });
    });
  }

  /** A second exclusive grant before the first holder sent its COMMIT: impossible for one row. */
  #checkContradiction(hold: LockHold): void {
    if (!isExclusive(hold.mode) || hold.autocommit) return;
    const other = hold.row.holds.find(
      (candidate) =>
        candidate.owner !== this &&
        isExclusive(candidate.mode) &&
        candidate.endSentMs === undefined &&
        candidate.releasedMs === undefined,
    );
    if (other === undefined) return;
    setTimeout(() => {
      const ended = other.endSentMs ?? other.releasedMs;
      if (ended !== undefined && ended < hold.grantedMs + CONTRADICTION_CHECK_MS) return;
      this.#rows.contradict([other, hold]);
    }, CONTRADICTION_CHECK_MS).unref();
  }

  /** A prepared transaction keeps its locks beyond this connection: when they end is unknown. */
  #forget(): void {
    for (const { hold } of this.#held.splice(0)) {
      hold.row.holds = hold.row.holds.filter((other) => other !== hold);
    }
    open.delete(this);
    this.#savepoints.clear();
  }
}

/** A transaction that shares a row and then changes it holds it anew: from there on it is alone. */
function covers(held: LockMode, wanted: LockMode): boolean {
  return isExclusive(held) || !isExclusive(wanted);
}

/** A hold ends at the reply of its COMMIT, or at the next grant where that reply was processed first. */
function releaseSeenByNext(hold: LockHold): number {
  let releasedMs = hold.releasedMs ?? hold.grantedMs;
  for (const next of hold.row.holds) {
    if (next === hold || next.grantedMs <= hold.grantedMs || next.owner === hold.owner) continue;
    if (isExclusive(next.mode))
      releasedMs = Math.min(releasedMs, Math.max(next.grantedMs, hold.endSentMs ?? 0));
  }
  return releasedMs;
}
