import { ClauseReader, type Target } from './clause-reader.ts';
import type { LockClause, LockMode } from './plan.ts';
import type { Found } from './token-reader.ts';

/** Reads UPDATE, DELETE and SELECT … FOR UPDATE: which rows they lock, and how. */
export class RowLockReader extends ClauseReader {
  /** @returns what the statement at `at` locks; null where none begins there, or it locks nothing. */
  lockAt(at: number): LockClause | null {
    switch (this.tokens.text[at]) {
      case 'update':
        return this.precededBy(at, ['for', 'key', 'do', 'on']) ? null : this.#update(at);
      case 'delete':
        return this.word(at + 1, 'from') && !this.precededBy(at, ['on']) ? this.#delete(at) : null;
      case 'select':
        return this.#selectFor(at);
      default:
        return null;
    }
  }

  #update(at: number): LockClause | null {
    const end = this.statementEnd(at);
    const depth = this.tokens.depth[at];
    const target = this.target(this.word(at + 1, 'only') ? at + 2 : at + 1);
    if (target === null || !this.word(target.next, 'set')) return null;
    const joined = this.find(target.next, end, depth, 'from') >= 0;
    const { value, next } = target;
    return this.lock(
      'UPDATE',
      'no-key-update',
      value,
      joined,
      next,
      end,
      depth,
      false,
      this.#assigned(next, end),
    );
  }

  /** @returns the columns that `SET a = …, (b, c) = …` gives new values. */
  #assigned(setAt: number, end: number): ReadonlySet<string> {
    const depth = this.tokens.depth[setAt];
    const columns = new Set<string>();
    for (let at = setAt + 1; at < end && !this.word(at, 'where') && !this.word(at, 'from'); at++) {
      if (this.tokens.depth[at] !== depth || !(at === setAt + 1 || this.symbol(at - 1, ','))) continue;
      if (this.symbol(at, '(')) for (const column of this.names(at)) columns.add(column);
      else if (this.isAnyName(at)) columns.add(this.tokens.text[at]);
    }
    return columns;
  }

  #delete(at: number): LockClause | null {
    const end = this.statementEnd(at);
    const depth = this.tokens.depth[at];
    const target = this.target(this.word(at + 2, 'only') ? at + 3 : at + 2);
    if (target === null) return null;
    const using = this.find(target.next, end, depth, 'using');
    return this.lock('DELETE', 'update', target.value, using >= 0, target.next, end, depth);
  }

  #selectFor(at: number): LockClause | null {
    const end = this.statementEnd(at);
    const depth = this.tokens.depth[at];
    let lockAt = -1;
    let mode: LockMode | null = null;
    for (let i = at + 1; i < end && lockAt < 0; i++) {
      if (this.tokens.depth[i] !== depth || !this.word(i, 'for')) continue;
      mode = this.#lockMode(i + 1);
      if (mode !== null) lockAt = i;
    }
    if (mode === null) return null;
    const from = this.find(at + 1, lockAt, depth, 'from');
    if (from < 0) return null;
    let target = this.target(this.word(from + 1, 'only') ? from + 2 : from + 1);
    if (target === null) return null;
    const joined = this.isJoin(target.next);
    const names = this.#lockedNames(lockAt, end);
    if (names !== null && !target.value.names.includes(names)) {
      target = this.#joinedTarget(names, target.next, lockAt, depth) ?? {
        value: { relation: names, names: [names] },
        next: target.next,
      };
    }
    const nowait = this.find(lockAt, end, depth, 'nowait') >= 0;
    const skip = this.find(lockAt, end, depth, 'skip') >= 0;
    const lock = this.lock('SELECT FOR', mode, target.value, joined, target.next, lockAt, depth, skip);
    return { ...lock, onConflict: nowait ? 'nowait' : skip ? 'skip' : 'block' };
  }

  #lockMode(at: number): LockMode | null {
    if (this.word(at, 'update')) return 'update';
    if (this.word(at, 'share')) return 'share';
    if (this.word(at, 'no') && this.word(at + 1, 'key') && this.word(at + 2, 'update'))
      return 'no-key-update';
    if (this.word(at, 'key') && this.word(at + 1, 'share')) return 'key-share';
    return null;
  }

  /** @returns the first name after `FOR … OF`, or null. */
  #lockedNames(lockAt: number, end: number): string | null {
    for (let i = lockAt + 2; i < Math.min(end, lockAt + 5); i++) {
      if (this.word(i, 'of') && this.isName(i + 1)) return this.tokens.text[i + 1];
    }
    return null;
  }

  /** @returns the relation behind an alias that stands in a join. */
  #joinedTarget(alias: string, start: number, end: number, depth: number): Found<Target> | null {
    for (let i = start; i < end; i++) {
      if (this.tokens.depth[i] !== depth || !this.isName(i) || this.tokens.text[i] !== alias) continue;
      if (this.symbol(i + 1, '.')) continue;
      const relation = this.word(i - 1, 'as') ? i - 2 : i - 1;
      if (!this.isName(relation)) continue;
      return {
        value: { relation: this.tokens.text[relation], names: [this.tokens.text[relation], alias] },
        next: start,
      };
    }
    return null;
  }
}
