import { ConditionReader } from './condition-reader.ts';
import {
  chooseKey,
  EMPTY_PLAN,
  type KeyPart,
  type LockClause,
  type LockMode,
  type StatementPlan,
  type TransactionOp,
  type Unlock,
  type ValueSource,
} from './plan.ts';
import type { Found } from './token-reader.ts';
import { tokenize, WORD } from './tokens.ts';

/** Longer texts are generated in bulk; their rows are not one lock. */
const MAX_TEXT = 20_000;
/** Texts without any of these words neither lock rows nor control a transaction. */
const PREFILTER =
  /\b(?:update|delete|insert|share|begin|start|commit|end|rollback|abort|savepoint|release|prepare|discard|pg_advisory\w*)\b/i;
/** Functions that wait for an advisory lock; those that only try never wait. */
const ADVISORY = /^pg_advisory(_xact)?_lock(_shared)?$/;
const ADVISORY_UNLOCK = /^pg_advisory_unlock(?:_shared)?$/;
/** More columns than this are no row of one parent each that anybody waits for. */
const MAX_PARENTS = 8;

const CLAUSE_ENDS = [
  'returning',
  'order',
  'group',
  'limit',
  'offset',
  'having',
  'window',
  'union',
  'intersect',
  'except',
  'fetch',
  'for',
];

/**
 * Reads which row locks a text takes and by which key. It knows the shapes that people and query builders
 * write, not all of SQL; what it does not understand has no key, and then nothing is claimed about it.
 */
export function parsePlan(sql: string): StatementPlan {
  if (sql.length > MAX_TEXT || !PREFILTER.test(sql)) return EMPTY_PLAN;
  try {
    return new PlanReader(tokenize(sql)).plan();
  } catch {
    return EMPTY_PLAN;
  }
}

class PlanReader extends ConditionReader {
  plan(): StatementPlan {
    const locks: LockClause[] = [];
    const guessed: LockClause[] = [];
    const unlocks: Unlock[] = [];
    let statements = this.length > 0 ? 1 : 0;
    for (let at = 0; at < this.length; at++) {
      if (this.symbol(at, ';') && at < this.length - 1) statements++;
      if (this.tokens.kind[at] !== WORD) continue;
      const lock = this.#lockAt(at);
      if (lock !== null) locks.push(lock);
      if (this.word(at, 'insert') && this.word(at + 1, 'into')) guessed.push(...this.#parents(at));
      const unlock = this.#unlockAt(at);
      if (unlock !== null) unlocks.push(unlock);
    }
    locks.push(...guessed);
    const transaction = statements === 1 ? this.#transaction() : null;
    return locks.length === 0 && transaction === null && statements === 1 && unlocks.length === 0
      ? EMPTY_PLAN
      : { locks, transaction, statements, unlocks };
  }

  #lockAt(at: number): LockClause | null {
    switch (this.tokens.text[at]) {
      case 'update':
        return this.precededBy(at, ['for', 'key', 'do', 'on']) ? null : this.#update(at);
      case 'delete':
        return this.word(at + 1, 'from') && !this.precededBy(at, ['on']) ? this.#delete(at) : null;
      case 'select':
        return this.#selectFor(at);
      case 'insert':
        return this.word(at + 1, 'into') ? this.#upsert(at) : null;
      default:
        return this.#advisory(at);
    }
  }

  /** Reads `pg_advisory_xact_lock(1)` and its kin: the number, or the two, are the key. */
  #advisory(at: number): LockClause | null {
    const match = this.symbol(at + 1, '(') ? ADVISORY.exec(this.tokens.text[at]) : null;
    if (match === null) return null;
    const [, transactional, shared] = match;
    return this.#advisoryClause(at, shared === undefined ? 'update' : 'share', transactional === undefined);
  }

  #advisoryClause(at: number, mode: LockMode, session: boolean): LockClause {
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

  #unlockAt(at: number): Unlock | null {
    const text = this.tokens.text[at];
    if (text === 'pg_advisory_unlock_all' || (at === 0 && text === 'discard' && this.word(1, 'all')))
      return 'all';
    return this.symbol(at + 1, '(') && ADVISORY_UNLOCK.test(text)
      ? this.#advisoryClause(at, 'update', true)
      : null;
  }

  /**
   * An inserted row takes a share of the row its foreign key points to. Which relation that is stands in the
   * catalog, not in the text: `order_id` is taken for a row of `order` or `orders`.
   */
  #parents(at: number): LockClause[] {
    const target = this.#target(at + 2);
    if (target === null || !this.symbol(target.next, '(')) return [];
    const columns = this.names(target.next);
    const values = this.tokens.close[target.next] + 1;
    if (!this.word(values, 'values') || !this.symbol(values + 1, '(')) return [];
    const close = this.tokens.close[values + 1];
    if (close < 0 || this.symbol(close + 1, ',')) return [];
    const row = this.row(values + 1);
    const parents: LockClause[] = [];
    for (const [i, column] of columns.entries()) {
      const value = row[i];
      if (!column.endsWith('_id') || value === null || value === undefined) continue;
      if (parents.length >= 2 * MAX_PARENTS) break;
      const base = column.slice(0, -3);
      const plural = base.endsWith('y') ? `${base.slice(0, -1)}ies` : `${base}s`;
      for (const relation of [base, plural]) {
        parents.push({
          relation,
          mode: 'key-share',
          onConflict: 'block',
          summary: `INSERT ${target.value.relation}`,
          key: [{ column: 'id', value }],
          identifies: true,
          guessed: true,
        });
      }
    }
    return parents;
  }

  #transaction(): TransactionOp | null {
    const { text, kind } = this.tokens;
    if (kind[0] !== WORD) return null;
    switch (text[0]) {
      case 'begin':
        return { op: 'begin' };
      case 'start':
        return this.word(1, 'transaction') ? { op: 'begin' } : null;
      case 'end':
        return { op: 'commit' };
      case 'commit':
        return this.word(1, 'prepared') ? null : { op: 'commit' };
      case 'prepare':
        return this.word(1, 'transaction') ? { op: 'prepare' } : null;
      case 'savepoint':
        return { op: 'savepoint', name: text[1] ?? '' };
      case 'release':
        return { op: 'release', name: text[this.word(1, 'savepoint') ? 2 : 1] ?? '' };
      case 'rollback':
      case 'abort': {
        if (this.word(1, 'prepared')) return null;
        const to = this.find(0, this.length, 0, 'to');
        if (to < 0) return { op: 'rollback' };
        return { op: 'rollback-to', name: text[this.word(to + 1, 'savepoint') ? to + 2 : to + 1] ?? '' };
      }
      default:
        return null;
    }
  }

  #update(at: number): LockClause | null {
    const end = this.statementEnd(at);
    const depth = this.tokens.depth[at];
    const target = this.#target(this.word(at + 1, 'only') ? at + 2 : at + 1);
    if (target === null || !this.word(target.next, 'set')) return null;
    const from = this.find(target.next, end, depth, 'from');
    return this.#lock('UPDATE', 'no-key-update', target.value, from >= 0, target.next, end, depth);
  }

  #delete(at: number): LockClause | null {
    const end = this.statementEnd(at);
    const depth = this.tokens.depth[at];
    const target = this.#target(this.word(at + 2, 'only') ? at + 3 : at + 2);
    if (target === null) return null;
    const using = this.find(target.next, end, depth, 'using');
    return this.#lock('DELETE', 'update', target.value, using >= 0, target.next, end, depth);
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
    let target = this.#target(this.word(from + 1, 'only') ? from + 2 : from + 1);
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
    const lock = this.#lock('SELECT FOR', mode, target.value, joined, target.next, lockAt, depth);
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

  #upsert(at: number): LockClause | null {
    const end = this.statementEnd(at);
    const depth = this.tokens.depth[at];
    const target = this.#target(at + 2);
    if (target === null) return null;
    const on = this.find(target.next, end, depth, 'on');
    if (on < 0 || !this.word(on + 1, 'conflict')) return null;
    const action = this.find(on, end, depth, 'do');
    if (action < 0 || !this.word(action + 1, 'update')) return null;
    const columns = this.symbol(target.next, '(') ? this.names(target.next) : [];
    const conflict = this.symbol(on + 2, '(') ? this.names(on + 2) : [];
    const { relation } = target.value;
    const equalities =
      conflict.length > 0 ? this.#insertedKey(columns, conflict, target.next, on, depth) : [];
    return {
      relation,
      mode: 'no-key-update',
      onConflict: 'block',
      summary: `INSERT ON CONFLICT ${relation}`,
      ...chooseKey(relation, equalities),
    };
  }

  /** @returns the values that VALUES gives the conflict columns: one row, or several with one column. */
  #insertedKey(columns: string[], conflict: string[], start: number, end: number, depth: number): KeyPart[] {
    const positions = conflict.map((column) => columns.indexOf(column));
    if (positions.includes(-1)) return [];
    const values = this.find(start, end, depth, 'values');
    if (values < 0) return [];
    const rows: (ValueSource | null)[][] = [];
    for (let at = values + 1; this.symbol(at, '('); ) {
      const close = this.tokens.close[at];
      if (close < 0) return [];
      rows.push(this.row(at));
      at = this.symbol(close + 1, ',') ? close + 2 : close + 1;
    }
    const keys = rows.map((row) => positions.map((position) => row[position] ?? null));
    if (keys.length === 0 || keys.some((key) => key.includes(null))) return [];
    if (keys.length === 1) return conflict.map((column, i) => ({ column, value: keys[0][i]! }));
    return conflict.length === 1
      ? [{ column: conflict[0], value: { list: keys.map((key) => key[0]!) } }]
      : [];
  }

  #lock(
    verb: string,
    mode: LockMode,
    target: Target,
    joined: boolean,
    start: number,
    end: number,
    depth: number,
  ): LockClause {
    const where = this.find(start, end, depth, 'where');
    let equalities: KeyPart[] = [];
    if (where >= 0) {
      let stop = end;
      for (const word of CLAUSE_ENDS) {
        const at = this.find(where + 1, end, depth, word);
        if (at >= 0 && at < stop) stop = at;
      }
      equalities = this.conjunction(where + 1, stop, target.names, joined) ?? [];
    }
    return {
      relation: target.relation,
      mode,
      onConflict: 'block',
      summary:
        verb === 'SELECT FOR'
          ? `SELECT ${target.relation} FOR ${mode.replaceAll('-', ' ').toUpperCase()}`
          : `${verb} ${target.relation}`,
      ...chooseKey(target.relation, equalities),
    };
  }

  /** Reads `schema.relation AS alias`. */
  #target(start: number): Found<Target> | null {
    if (!this.isName(start)) return null;
    let at = start + 1;
    let relation = this.tokens.text[start];
    while (this.symbol(at, '.') && this.isAnyName(at + 1)) {
      relation = this.tokens.text[at + 1];
      at += 2;
    }
    if (this.symbol(at, '*')) at++;
    const names = [relation];
    if (this.word(at, 'as') && this.isAnyName(at + 1)) {
      names.push(this.tokens.text[at + 1]);
      at += 2;
    } else if (this.isName(at) && !this.isJoin(at)) {
      names.push(this.tokens.text[at]);
      at++;
    }
    return { value: { relation, names }, next: at };
  }
}

interface Target {
  readonly relation: string;
  /** Relation and alias: what a column may be qualified with. */
  readonly names: readonly string[];
}
