import { type Context, trace } from '@opentelemetry/api';
import { activeContext, runIn } from '../core/active-context.ts';
import { now } from '../core/clock.ts';
import { isSampled } from '../core/emit.ts';
import { loopClock } from '../core/loop-clock.ts';
import { emitLoopTail, hasLoopTail } from '../core/loop-wait.ts';
import { type RootRecord, rootOf } from '../core/root.ts';
import { enterWork, leaveWork } from '../core/work.ts';
import type { ConnectionLocks } from './locks/connection-locks.ts';
import type { Running } from './locks/running.ts';
import { type ObservedStatement, observer, type StatementObserver } from './sampler/observer.ts';
import type { CachedPlan } from './sql/plan-cache.ts';
import { StatementSpan } from './statement-span.ts';
import type { PgClient, TransactionStatus } from './types.ts';

export interface QueryResult {
  rowCount?: number | null;
}

export type QueryCallback = (error: unknown, result?: QueryResult) => unknown;

/** What a statement is, and who sends it. */
export interface Statement {
  readonly client: PgClient;
  readonly caller: Context;
  /** Undefined for a statement that neither locks rows nor stands in a transaction. */
  readonly locks: ConnectionLocks | undefined;
  readonly plan: CachedPlan;
  readonly text: string | undefined;
  readonly values: readonly unknown[] | undefined;
  /** Whether a span that the official instrumentation makes of it also ends. */
  readonly officialEnds: boolean;
  /** Whether nothing of the service's runs in its callback. */
  readonly isPoolsOwn: boolean;
}

/** A statement that is watched from its call to its reply. */
export class WatchedStatement {
  readonly #statement: Statement;
  readonly #callMs = now();
  readonly #root: RootRecord | undefined;
  readonly #span: StatementSpan;
  readonly #running: Running | undefined;
  #isHandedOn = false;
  #isReplied = false;
  #seen: ObservedStatement | undefined;

  constructor(statement: Statement) {
    this.#statement = statement;
    const { caller, client } = statement;
    this.#root = rootOf(caller);
    leaveWork(this.#root, caller, this.#callMs);
    this.#span = new StatementSpan(caller, this.#callMs, statement.officialEnds);
    this.#running = statement.locks?.sent(
      statement.plan,
      statement.values,
      this.#span.parent,
      client.getTransactionStatus?.(),
    );
    if (this.#running !== undefined) this.#running.hasStatementSpan = this.#span.isKnown;
  }

  /** The client has taken the statement. */
  handedOn(): void {
    this.#isHandedOn = true;
    this.#span.handedOn();
    const running = this.#running;
    if (running !== undefined) {
      running.parent = this.#span.parent;
      running.hasStatementSpan = this.#span.isKnown;
    }
    if (observer !== undefined && !this.#isReplied) this.#observe(observer);
  }

  #observe(by: StatementObserver): void {
    const { client, plan, caller } = this.#statement;
    try {
      this.#seen = by.sent({
        client,
        callMs: this.#callMs,
        plan,
        parent: this.#span.parent,
        isSampled: isSampled(caller),
      });
      if (this.#running !== undefined) this.#running.seen = this.#seen;
    } catch {
      // Ours must never reach the service.
    }
  }

  /**
   * Its reply is here, or an error; the service has not seen it yet.
   *
   * @param status where the transaction stands after it, if the client does not know that yet.
   */
  replied(error: unknown, result?: QueryResult, status?: TransactionStatus): void {
    if (this.#isReplied) return;
    this.#isReplied = true;
    const { client, locks, plan, text } = this.#statement;
    try {
      const atMs = now();
      const loopWait = loopClock.waitAt(atMs);
      enterWork(this.#root, atMs);
      this.#seen?.replied(Math.max(this.#callMs, atMs - loopWait.maxMs), error);
      if (this.#running !== undefined)
        locks?.replied(
          this.#running,
          client,
          error,
          result?.rowCount,
          loopWait,
          status ?? client.getTransactionStatus?.(),
        );
      // Before it was handed on, the reply is an error of the call itself.
      if (this.#isHandedOn && hasLoopTail(loopWait, this.#callMs, atMs))
        emitLoopTail(this.#span.parent, loopWait, this.#callMs, atMs);
      this.#seen?.finish();
      this.#span.end(client, plan, text, error, atMs, this.#seen?.waitEvents);
    } catch {
      // Ours must never reach the service.
    }
  }

  /** @returns the service's callback, after ours, in the context of its call. */
  wrap(callback: QueryCallback): QueryCallback {
    const watched = this;
    const { caller, isPoolsOwn } = this.#statement;
    const isBound = isPoolsOwn || (this.#span.isOfficialAround && trace.getSpan(caller) !== undefined);
    return function (this: unknown, ...all: Parameters<QueryCallback>) {
      watched.replied(all[0], all[1]);
      return isBound || activeContext() === caller
        ? callback.apply(this, all)
        : runIn(caller, callback, this, all);
    };
  }
}
