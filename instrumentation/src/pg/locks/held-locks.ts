import { isExclusive, type LockMode } from '../sql/plan.ts';
import type { Claim } from './claim.ts';
import type { Attempt } from './infer-wait.ts';
import type { Reply } from './reply.ts';
import type { LockHold, Row } from './row.ts';

/** A lock that is held, and what led to it. */
export interface OpenHold {
  readonly hold: LockHold;
  readonly claim: Claim;
  /** How it was got; undefined once that is written. */
  attempt: Attempt | undefined;
  /** What a statement that does nothing takes on this connection, ms; null where none was seen. */
  readonly idleMs: number | null;
  /** Its predicate matched several rows: their waits are real, but they are no queue for one row. */
  readonly several: boolean;
}

/** The locks one connection holds: those of its transaction by their grant, and those beyond transactions. */
export class HeldLocks {
  #transaction: OpenHold[] = [];
  /** Advisory locks of the session. */
  #session: OpenHold[] = [];
  readonly #written: (entry: OpenHold) => void;

  /** @param ended writes down a hold that has ended. */
  constructor(ended: (entry: OpenHold) => void) {
    this.#written = ended;
  }

  get size(): number {
    return this.#transaction.length + this.#session.length;
  }

  get inTransaction(): number {
    return this.#transaction.length;
  }

  /** @returns whether the row is held already, by a lock that is as good as this mode. */
  has(row: Row, mode: LockMode, session: boolean): boolean {
    const held = session ? this.#session : this.#transaction;
    return held.some(({ hold }) => hold.row === row && covers(hold.mode, mode));
  }

  add(entry: OpenHold): void {
    (entry.claim.lock.session === true ? this.#session : this.#transaction).push(entry);
  }

  /**
   * The end of the transaction, or of what came after its first `kept` locks, goes out: from here on the next in line may
   * get these rows at any time.
   */
  endSent(kept: number, atMs: number): void {
    for (let at = kept; at < this.#transaction.length; at++) this.#transaction[at].hold.endSentMs ??= atMs;
  }

  sessionEndSent(rows: readonly Row[] | 'all', atMs: number): void {
    for (const { hold } of this.#unlocked(rows)) hold.endSentMs ??= atMs;
  }

  /** Frees what the transaction locked after its first `kept` locks. */
  keep(kept: number, reply: Reply): void {
    if (this.#transaction.length > kept) this.#end(this.#transaction.splice(kept), reply);
  }

  /** Locks beyond transactions were given back. */
  unlock(rows: readonly Row[] | 'all', reply: Reply): void {
    if (this.#session.length === 0 || rows.length === 0) return;
    const released = this.#unlocked(rows);
    this.#session = this.#session.filter((entry) => !released.includes(entry));
    this.#end(released, reply);
  }

  /** A prepared transaction keeps its locks beyond this connection: when they end is unknown. */
  forget(): void {
    for (const { hold } of this.#transaction.splice(0)) {
      hold.row.holds = hold.row.holds.filter((other) => other !== hold);
    }
  }

  #unlocked(rows: readonly Row[] | 'all'): OpenHold[] {
    return rows === 'all' ? this.#session : this.#session.filter(({ hold }) => rows.includes(hold.row));
  }

  #end(released: readonly OpenHold[], reply: Reply): void {
    for (const { hold } of released) {
      hold.endSentMs ??= reply.sentMs;
      hold.releasedMs = Math.max(hold.endSentMs, reply.answeredMs, hold.grantedMs);
      hold.endRepliedMs = reply.repliedMs;
    }
    for (const entry of released) this.#written(entry);
    for (const { hold } of released) {
      hold.row.released();
      hold.row.prune();
    }
  }
}

/** A transaction that shares a row and then changes it holds it anew: from there on it is alone. */
function covers(held: LockMode, wanted: LockMode): boolean {
  return isExclusive(held) || !isExclusive(wanted);
}
