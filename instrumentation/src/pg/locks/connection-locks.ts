import type { Context } from '@opentelemetry/api';
import type { Outcome } from '../../conventions.ts';
import { now } from '../../core/clock.ts';
import { type Linked, LinkedList } from '../../core/linked-list.ts';
import type { LoopWait } from '../../core/loop-clock.ts';
import { onShutdown } from '../../core/shutdown.ts';
import type { CachedPlan } from '../sql/plan-cache.ts';
import { RecentValues } from '../sql/recent-values.ts';
import type { PgClient, TransactionStatus } from '../types.ts';
import { type Claim, claimOf } from './claim.ts';
import { checkContradiction } from './contradiction.ts';
import { HeldLocks } from './held-locks.ts';
import { type Attempt, holdsInTheWay } from './infer-wait.ts';
import { recordHold, recordRefusal, recordWait } from './record-locks.ts';
import { isFatal, isServers, REFUSALS } from './refusals.ts';
import { type Reply, replyAt } from './reply.ts';
import type { LockHold, LockOwner, Row } from './row.ts';
import type { DatabaseRows } from './rows.ts';
import type { Running } from './running.ts';
import { Transaction } from './transaction.ts';

/** How a statement ended for one of the rows it wanted. */
interface Ending {
  readonly result: Attempt['result'];
  /** Rows it changed or read; null where that says nothing about this row. */
  readonly countsRows?: number | null;
  readonly outcome?: Outcome;
  readonly errorType?: string;
}

const open = new LinkedList<ConnectionLocks>();
const NO_ROWS: readonly Row[] = [];
const NO_WAIT = { minMs: 0, maxMs: 0 };

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
  readonly #held: HeldLocks;
  readonly #transaction = new Transaction();
  /** Statements are sent without waiting for the replies of those before. */
  readonly #isPipelined: boolean;
  #lastReplyMs = 0;
  /** What BEGIN takes, ms. */
  readonly #begin = new RecentValues();

  constructor(rows: DatabaseRows, isPipelined: boolean) {
    this.#rows = rows;
    this.#isPipelined = isPipelined;
    this.#held = new HeldLocks((entry) => recordHold(rows, entry));
  }

  get isActive(): boolean {
    return this.#running.length > 0;
  }

  get held(): number {
    return this.#held.size;
  }

  /** @returns whether the next statement must be watched even if it neither locks nor ends anything. */
  get isInvolved(): boolean {
    return this.#transaction.isOpen || this.#running.length > 0;
  }

  /** Called before a statement is handed to the client. */
  sent(
    plan: CachedPlan,
    values: readonly unknown[] | undefined,
    parent: Context,
    status: TransactionStatus | undefined,
  ): Running {
    const callMs = now();
    // Something that did not pass here has ended the transaction.
    if (status === 'I' && this.#running.length === 0 && this.#held.inTransaction > 0)
      this.#endTransaction(replyAt(callMs));
    const claims: Claim[] = [];
    for (const lock of plan.locks) {
      for (const row of this.#rows.find(lock, values)) claims.push(claimOf(row, lock, this, callMs));
    }
    for (const claim of claims) claim.row.inFlight++;
    const unlocks = this.#unlocksOf(plan, values);
    const isAhead = this.#isPipelined && this.#running.length > 0;
    if (isAhead) for (const other of this.#running) other.isAhead = true;
    const running: Running = { plan, callMs, parent, hasStatementSpan: false, claims, unlocks, isAhead };
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
   * @param loopWait bounds of the time the reply has lain in the event loop.
   * @param status where the transaction stands now, where that is known.
   */
  replied(
    running: Running,
    client: PgClient,
    error: unknown,
    rowCount: number | null | undefined,
    loopWait: Pick<LoopWait, 'minMs' | 'maxMs'>,
    status: TransactionStatus | undefined,
  ): void {
    const repliedMs = now();
    const reply = this.#replyOf(running, repliedMs, loopWait);
    const position = this.#running.indexOf(running);
    if (position < 0) return;
    // The server answers in order: those before it that had no answer never reached it.
    const first = isServers(error) ? 0 : position;
    for (const { claims } of this.#running.splice(first, position - first + 1)) {
      for (const claim of claims) claim.row.inFlight--;
    }
    this.#lastReplyMs = repliedMs;
    if (error !== undefined && error !== null) {
      this.#failed(running, client, error, reply);
    } else {
      this.#succeeded(running, status, rowCount, reply);
    }
    if (this.#held.size === 0) open.delete(this);
    for (const claim of running.claims) claim.row.prune();
    // The next statement in the client's queue goes out now.
    if (this.#running.length > 0) this.#endSent(this.#running[0], repliedMs);
  }

  /** The connection is gone, its locks with it, and whoever waited on it has waited. */
  disconnected(): void {
    const atMs = now();
    const [active] = this.#running;
    const reply = replyAt(atMs);
    for (const running of this.#running.splice(0)) {
      for (const claim of running.claims) claim.row.inFlight--;
    }
    if (active !== undefined)
      this.#refused(active, 'aborted', undefined, this.#replyOf(active, atMs, NO_WAIT));
    this.#endTransaction(reply);
    this.#held.unlock('all', reply);
    open.delete(this);
  }

  #replyOf(running: Running, repliedMs: number, loopWait: Pick<LoopWait, 'minMs' | 'maxMs'>): Reply {
    const sentMs = Math.max(running.callMs, this.#lastReplyMs);
    return {
      sentMs,
      answeredMs: Math.max(sentMs, repliedMs - loopWait.maxMs),
      repliedMs,
      readyMs: Math.max(sentMs, repliedMs - loopWait.minMs),
    };
  }

  #succeeded(
    running: Running,
    status: TransactionStatus | undefined,
    rowCount: number | null | undefined,
    reply: Reply,
  ): void {
    const { plan } = running;
    if (plan.transaction?.op === 'prepare') {
      this.#held.forget();
      this.#transaction.end();
    } else if (plan.transaction !== null) {
      this.#held.keep(this.#transaction.succeeded(plan.transaction, this.#held.inTransaction), reply);
      if (plan.transaction.op === 'begin' && plan.statements === 1)
        this.#begin.add(reply.readyMs - reply.sentMs);
    }
    this.#transaction.observe(status);
    this.#held.unlock(running.unlocks, reply);
    const sole = plan.statements === 1 && plan.locks.filter((lock) => lock.guessed !== true).length === 1;
    const wanted = sole ? running.claims.filter(({ lock }) => lock.guessed !== true).length : 0;
    for (const claim of running.claims) {
      // Of several rows some were not there, or not free: which ones were taken is not known.
      const skips = claim.lock.onConflict === 'skip';
      const doubtful = sole && claim.lock.guessed !== true && (rowCount ?? (skips ? 0 : wanted)) < wanted;
      if (skips && (!sole || doubtful)) continue;
      this.#answered(running, claim, reply, {
        result: doubtful ? 'nothing' : 'granted',
        countsRows: sole ? (rowCount ?? null) : null,
      });
    }
    if (!this.#transaction.isOpen && this.#held.inTransaction > 0) this.#endTransaction(reply);
  }

  #failed(running: Running, client: PgClient, error: unknown, reply: Reply): void {
    const { code, severity, message } = error as { code?: unknown; severity?: unknown; message?: unknown };
    if (typeof code !== 'string' || !isServers(error)) {
      // Not the server's answer: a broken connection frees the locks, a client that gives a statement up does not.
      if (client._queryable === false || client._ended === true) this.disconnected();
      else if (/timeout/i.test(String(message))) this.#refused(running, 'timeout', 'timeout', reply);
      return;
    }
    this.#refused(running, REFUSALS[code], code, reply);
    this.#held.keep(this.#transaction.failed(this.#held.inTransaction), reply);
    if (isFatal(severity)) this.disconnected();
  }

  /** @param outcome how a wait ends by this error; undefined for errors that say nothing of a wait. */
  #refused(
    running: Running,
    outcome: Outcome | undefined,
    errorType: string | undefined,
    reply: Reply,
  ): void {
    for (const claim of running.claims) {
      const { onConflict } = claim.lock;
      if (onConflict === 'nowait' && errorType === '55P03') {
        recordRefusal(this.#rows, running, claim, null, reply.answeredMs, 'rejected', errorType);
      } else if (onConflict === 'block') {
        const result = outcome === undefined ? 'nothing' : 'refused';
        this.#answered(running, claim, reply, { result, outcome, errorType });
      }
    }
  }

  #answered(running: Running, claim: Claim, reply: Reply, ending: Ending): void {
    const { row, lock } = claim;
    const { seen, plan } = running;
    const session = lock.session === true;
    const autocommit = (!this.#transaction.isOpen || running.isAhead) && !session;
    const inTheWay = lock.onConflict === 'block' ? holdsInTheWay(row, lock.mode, this, reply.sentMs) : [];
    if (inTheWay.length > 0) seen?.explain(lock.relation);
    if (inTheWay.length === 0 && lock.onConflict === 'block' && seen?.sawWait !== true)
      plan.timing.uncontended.add(reply.readyMs - reply.sentMs);
    const attempt: Attempt = {
      ...reply,
      timing: plan.timing,
      autocommit,
      result: ending.result,
      inTheWay,
    };
    if (ending.result !== 'granted' || this.#held.has(row, lock.mode, session)) {
      const { outcome = 'acquired', errorType } = ending;
      recordWait(this.#rows, running, claim, attempt, outcome, ending.outcome && errorType);
      return;
    }
    const hold: LockHold = {
      row,
      mode: lock.mode,
      summary: lock.summary,
      owner: this,
      parent: running.parent,
      hasStatementSpan: running.hasStatementSpan,
      autocommit,
      sentMs: reply.sentMs,
      grantedMs: reply.answeredMs,
      endSentMs: undefined,
      releasedMs: undefined,
      endRepliedMs: reply.repliedMs,
      contradicted: false,
    };
    checkContradiction(this.#rows, hold);
    row.holds.push(hold);
    this.#held.add({
      hold,
      claim,
      attempt: seen === undefined ? attempt : { ...attempt, seen: seen.take(lock.relation) },
      idleMs: this.#begin.median,
      several: !row.identifies && ending.countsRows !== null && (ending.countsRows ?? 1) > 1,
    });
    open.add(this);
  }

  /** The end of a transaction, or of a lock beyond it, goes out. */
  #endSent(running: Running, atMs: number): void {
    if (running.unlocks.length > 0) this.#held.sessionEndSent(running.unlocks, atMs);
    this.#held.endSent(this.#transaction.keptBy(running.plan.transaction, this.#held.inTransaction), atMs);
  }

  #endTransaction(reply: Reply): void {
    this.#held.keep(0, reply);
    this.#transaction.end();
  }
}
