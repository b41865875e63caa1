import { ConditionReader } from './condition-reader.ts';
import type { LockClause, LockMode, Unlock } from './plan.ts';

/** Functions that wait for an advisory lock; those that only try never wait. */
const LOCK = /^pg_advisory(_xact)?_lock(_shared)?$/;
const UNLOCK = /^pg_advisory_unlock(?:_shared)?$/;

/** Reads calls of the functions that take and give back advisory locks. */
export class AdvisoryReader extends ConditionReader {
  /** Reads `pg_advisory_xact_lock(1)` and its kin: the number, or the two, are the key. */
  lockAt(at: number): LockClause | null {
    const match = this.symbol(at + 1, '(') ? LOCK.exec(this.tokens.text[at]) : null;
    if (match === null) return null;
    const [, transactional, shared] = match;
    return this.#clause(at, shared === undefined ? 'update' : 'share', transactional === undefined);
  }

  #clause(at: number, mode: LockMode, session: boolean): LockClause {
    const values = this.row(at + 1);
    const known = values.length <= 2 && !values.includes(null);
    return {
      relation: 'advisory',
      mode,
      onConflict: 'block',
      summary: `SELECT ${this.tokens.text[at]}`,
      key: known ? values.map((value, i) => ({ column: `key${i + 1}`, value: value! })) : null,
      identifies: known,
      session,
    };
  }

  unlockAt(at: number): Unlock | null {
    const text = this.tokens.text[at];
    if (text === 'pg_advisory_unlock_all' || (at === 0 && text === 'discard' && this.word(1, 'all')))
      return 'all';
    return this.symbol(at + 1, '(') && UNLOCK.test(text) ? this.#clause(at, 'update', true) : null;
  }
}
