import {
  chooseKey,
  EMPTY_PLAN,
  type KeyPart,
  type LockClause,
  type LockMode,
  type StatementPlan,
  type TransactionOp,
  type ValueSource,
} from './plan.ts';
import { NUMBER, PARAMETER, QUOTED, STRING, SYMBOL, type Tokens, tokenize, WORD } from './tokens.ts';

/** Longer texts are generated in bulk; their rows are not one lock. */
const MAX_TEXT = 20_000;
/** Texts without any of these words neither lock rows nor control a transaction. */
const PREFILTER =
  /\b(?:update|delete|insert|share|begin|start|commit|end|rollback|abort|savepoint|release|prepare)\b/i;

/** Words that end a clause or cannot be a name where we read names. */
const RESERVED = new Set(
  `all and any array as asc between by case cast check conflict cross default desc distinct do else end except
  exists false fetch for from full group having ilike in inner intersect into is isnull join lateral left like
  limit natural not notnull null offset on only or order outer overlaps overriding returning right select set
  similar some table then to true union unique using values when where window with`.split(/\s+/),
);
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
const JOINS = new Set(['join', 'inner', 'left', 'right', 'full', 'cross', 'natural', 'using', 'from']);

/**
 * Reads which row locks a text takes and by which key. It knows the shapes that people and query builders
 * write, not all of SQL; what it does not understand has no key, and then nothing is claimed about it.
 */
export function parsePlan(sql: string): StatementPlan {
  if (sql.length > MAX_TEXT || !PREFILTER.test(sql)) return EMPTY_PLAN;
  try {
    return new Reader(tokenize(sql)).plan();
  } catch {
    return EMPTY_PLAN;
  }
}

/** A name and where the tokens after it begin. */
interface Found<T> {
  readonly value: T;
  readonly next: number;
}

interface Column {
  readonly qualifier: string | null;
  readonly column: string;
}

class Reader {
  readonly #tokens: Tokens;
  readonly #length: number;

  constructor(tokens: Tokens) {
    this.#tokens = tokens;
    this.#length = tokens.kind.length;
  }

  plan(): StatementPlan {
    const locks: LockClause[] = [];
    let statements = this.#length > 0 ? 1 : 0;
    for (let at = 0; at < this.#length; at++) {
      if (this.#symbol(at, ';') && at < this.#length - 1) statements++;
      if (this.#tokens.kind[at] !== WORD) continue;
      const lock = this.#lockAt(at);
      if (lock !== null) locks.push(lock);
    }
    const transaction = statements === 1 ? this.#transaction() : null;
    return locks.length === 0 && transaction === null && statements === 1
      ? EMPTY_PLAN
      : { locks, transaction, statements };
  }

  #lockAt(at: number): LockClause | null {
    switch (this.#tokens.text[at]) {
      case 'update':
        return this.#precededBy(at, ['for', 'key', 'do', 'on']) ? null : this.#update(at);
      case 'delete':
        return this.#word(at + 1, 'from') && !this.#precededBy(at, ['on']) ? this.#delete(at) : null;
      case 'select':
        return this.#selectFor(at);
      case 'insert':
        return this.#word(at + 1, 'into') ? this.#upsert(at) : null;
      default:
        return null;
    }
  }

  #transaction(): TransactionOp | null {
    const { text, kind } = this.#tokens;
    if (kind[0] !== WORD) return null;
    switch (text[0]) {
      case 'begin':
        return { op: 'begin' };
      case 'start':
        return this.#word(1, 'transaction') ? { op: 'begin' } : null;
      case 'end':
        return { op: 'commit' };
      case 'commit':
        return this.#word(1, 'prepared') ? null : { op: 'commit' };
      case 'prepare':
        return this.#word(1, 'transaction') ? { op: 'prepare' } : null;
      case 'savepoint':
        return { op: 'savepoint', name: text[1] ?? '' };
      case 'release':
        return { op: 'release', name: text[this.#word(1, 'savepoint') ? 2 : 1] ?? '' };
      case 'rollback':
      case 'abort': {
        if (this.#word(1, 'prepared')) return null;
        const to = this.#find(0, this.#length, 0, 'to');
        if (to < 0) return { op: 'rollback' };
        return { op: 'rollback-to', name: text[this.#word(to + 1, 'savepoint') ? to + 2 : to + 1] ?? '' };
      }
      default:
        return null;
    }
  }

  #update(at: number): LockClause | null {
    const end = this.#statementEnd(at);
    const depth = this.#tokens.depth[at];
    const target = this.#target(this.#word(at + 1, 'only') ? at + 2 : at + 1);
    if (target === null || !this.#word(target.next, 'set')) return null;
    const from = this.#find(target.next, end, depth, 'from');
    return this.#lock('UPDATE', 'no-key-update', target.value, from >= 0, target.next, end, depth);
  }

  #delete(at: number): LockClause | null {
    const end = this.#statementEnd(at);
    const depth = this.#tokens.depth[at];
    const target = this.#target(this.#word(at + 2, 'only') ? at + 3 : at + 2);
    if (target === null) return null;
    const using = this.#find(target.next, end, depth, 'using');
    return this.#lock('DELETE', 'update', target.value, using >= 0, target.next, end, depth);
  }

  #selectFor(at: number): LockClause | null {
    const end = this.#statementEnd(at);
    const depth = this.#tokens.depth[at];
    let lockAt = -1;
    let mode: LockMode | null = null;
    for (let i = at + 1; i < end && lockAt < 0; i++) {
      if (this.#tokens.depth[i] !== depth || !this.#word(i, 'for')) continue;
      mode = this.#lockMode(i + 1);
      if (mode !== null) lockAt = i;
    }
    if (mode === null) return null;
    const from = this.#find(at + 1, lockAt, depth, 'from');
    if (from < 0) return null;
    let target = this.#target(this.#word(from + 1, 'only') ? from + 2 : from + 1);
    if (target === null) return null;
    const joined = this.#isJoin(target.next);
    const names = this.#lockedNames(lockAt, end);
    if (names !== null && !target.value.names.includes(names)) {
      target = this.#joinedTarget(names, target.next, lockAt, depth) ?? {
        value: { relation: names, names: [names] },
        next: target.next,
      };
    }
    const nowait = this.#find(lockAt, end, depth, 'nowait') >= 0;
    const skip = this.#find(lockAt, end, depth, 'skip') >= 0;
    const lock = this.#lock('SELECT FOR', mode, target.value, joined, target.next, lockAt, depth);
    return { ...lock, onConflict: nowait ? 'nowait' : skip ? 'skip' : 'block' };
  }

  #lockMode(at: number): LockMode | null {
    if (this.#word(at, 'update')) return 'update';
    if (this.#word(at, 'share')) return 'share';
    if (this.#word(at, 'no') && this.#word(at + 1, 'key') && this.#word(at + 2, 'update'))
      return 'no-key-update';
    if (this.#word(at, 'key') && this.#word(at + 1, 'share')) return 'key-share';
    return null;
  }

  /** @returns the first name after `FOR … OF`, or null. */
  #lockedNames(lockAt: number, end: number): string | null {
    for (let i = lockAt + 2; i < Math.min(end, lockAt + 5); i++) {
      if (this.#word(i, 'of') && this.#isName(i + 1)) return this.#tokens.text[i + 1];
    }
    return null;
  }

  /** @returns the relation behind an alias that stands in a join. */
  #joinedTarget(alias: string, start: number, end: number, depth: number): Found<Target> | null {
    for (let i = start; i < end; i++) {
      if (this.#tokens.depth[i] !== depth || !this.#isName(i) || this.#tokens.text[i] !== alias) continue;
      if (this.#symbol(i + 1, '.')) continue;
      const relation = this.#word(i - 1, 'as') ? i - 2 : i - 1;
      if (!this.#isName(relation)) continue;
      return {
        value: { relation: this.#tokens.text[relation], names: [this.#tokens.text[relation], alias] },
        next: start,
      };
    }
    return null;
  }

  #upsert(at: number): LockClause | null {
    const end = this.#statementEnd(at);
    const depth = this.#tokens.depth[at];
    const target = this.#target(at + 2);
    if (target === null) return null;
    const on = this.#find(target.next, end, depth, 'on');
    if (on < 0 || !this.#word(on + 1, 'conflict')) return null;
    const action = this.#find(on, end, depth, 'do');
    if (action < 0 || !this.#word(action + 1, 'update')) return null;
    const columns = this.#symbol(target.next, '(') ? this.#names(target.next) : [];
    const conflict = this.#symbol(on + 2, '(') ? this.#names(on + 2) : [];
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
    const values = this.#find(start, end, depth, 'values');
    if (values < 0) return [];
    const rows: (ValueSource | null)[][] = [];
    for (let at = values + 1; this.#symbol(at, '('); ) {
      const close = this.#tokens.close[at];
      if (close < 0) return [];
      rows.push(this.#row(at));
      at = this.#symbol(close + 1, ',') ? close + 2 : close + 1;
    }
    const keys = rows.map((row) => positions.map((position) => row[position] ?? null));
    if (keys.length === 0 || keys.some((key) => key.includes(null))) return [];
    if (keys.length === 1) return conflict.map((column, i) => ({ column, value: keys[0][i]! }));
    return conflict.length === 1
      ? [{ column: conflict[0], value: { list: keys.map((key) => key[0]!) } }]
      : [];
  }

  #row(open: number): (ValueSource | null)[] {
    const close = this.#tokens.close[open];
    const inner = this.#tokens.depth[open] + 1;
    const row: (ValueSource | null)[] = [];
    let start = open + 1;
    for (let at = start; at <= close; at++) {
      if (at < close && !(this.#tokens.depth[at] === inner && this.#symbol(at, ','))) continue;
      const found = this.#constant(start, at);
      row.push(found !== null && found.next === at ? found.value : null);
      start = at + 1;
    }
    return row;
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
    const where = this.#find(start, end, depth, 'where');
    let equalities: KeyPart[] = [];
    if (where >= 0) {
      let stop = end;
      for (const word of CLAUSE_ENDS) {
        const at = this.#find(where + 1, end, depth, word);
        if (at >= 0 && at < stop) stop = at;
      }
      equalities = this.#conjunction(where + 1, stop, target.names, joined) ?? [];
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

  /** Reads `a AND b AND …`. @returns null where an OR makes the parts say nothing. */
  #conjunction(start: number, end: number, names: readonly string[], joined: boolean): KeyPart[] | null {
    if (start >= end) return [];
    const depth = this.#tokens.depth[start];
    if (this.#find(start, end, depth, 'or') >= 0 || this.#find(start, end, depth, 'case') >= 0) return null;
    const parts: KeyPart[] = [];
    let from = start;
    let between = false;
    for (let at = start; at <= end; at++) {
      if (at < end) {
        if (this.#tokens.depth[at] !== depth) continue;
        if (this.#word(at, 'between')) between = true;
        if (!this.#word(at, 'and')) continue;
        if (between) {
          between = false;
          continue;
        }
      }
      parts.push(...this.#comparison(from, at, names, joined));
      from = at + 1;
    }
    return parts;
  }

  #comparison(start: number, end: number, names: readonly string[], joined: boolean): KeyPart[] {
    if (this.#symbol(start, '(') && this.#tokens.close[start] === end - 1) {
      return this.#conjunction(start + 1, end - 1, names, joined) ?? [];
    }
    const pairs = this.#rowComparison(start, end);
    if (pairs !== null) return pairs;
    const isOurs = (column: Column) =>
      column.qualifier === null ? !joined : names.includes(column.qualifier);
    const left = this.#column(start, end);
    if (left !== null) {
      if (!isOurs(left.value)) return [];
      const value = this.#comparedWith(left.next, end);
      return value === null ? [] : [{ column: left.value.column, value }];
    }
    const constant = this.#constant(start, end);
    if (constant === null || !this.#symbol(constant.next, '=')) return [];
    const right = this.#column(constant.next + 1, end);
    if (right === null || right.next !== end || !isOurs(right.value)) return [];
    return [{ column: right.value.column, value: constant.value }];
  }

  /** Reads what follows a column: `= constant`, `= ANY(array)` or `IN (constants)`. */
  #comparedWith(at: number, end: number): ValueSource | null {
    if (this.#symbol(at, '=')) {
      if (this.#word(at + 1, 'any') && this.#symbol(at + 2, '(')) {
        const array = this.#constant(at + 3, end);
        return array !== null && array.next === end - 1 && 'parameter' in array.value
          ? { array: array.value.parameter }
          : null;
      }
      const value = this.#constant(at + 1, end);
      return value !== null && value.next === end ? value.value : null;
    }
    if (this.#word(at, 'in') && this.#symbol(at + 1, '(') && this.#tokens.close[at + 1] === end - 1) {
      const row = this.#row(at + 1);
      if (row.length === 0 || row.includes(null)) return null;
      return row.length === 1 ? row[0] : { list: row as ValueSource[] };
    }
    return null;
  }

  /** Reads `(a, b) = ($1, $2)`. */
  #rowComparison(start: number, end: number): KeyPart[] | null {
    const close = this.#symbol(start, '(') ? this.#tokens.close[start] : -1;
    if (close < 0 || !this.#symbol(close + 1, '=') || !this.#symbol(close + 2, '(')) return null;
    if (this.#tokens.close[close + 2] !== end - 1) return null;
    const columns = this.#names(start);
    const values = this.#row(close + 2);
    if (columns.length !== values.length || values.includes(null)) return [];
    return columns.map((column, i) => ({ column, value: values[i]! }));
  }

  #column(at: number, end: number): Found<Column> | null {
    if (!this.#isName(at)) return null;
    const names = [this.#tokens.text[at]];
    let next = at + 1;
    while (next + 1 < end && this.#symbol(next, '.') && this.#isAnyName(next + 1)) {
      names.push(this.#tokens.text[next + 1]);
      next += 2;
    }
    if (this.#symbol(next, '(')) return null;
    return { value: { qualifier: names.at(-2) ?? null, column: names.at(-1)! }, next };
  }

  /** Reads a parameter or a literal, with its casts. */
  #constant(at: number, end: number): Found<ValueSource> | null {
    if (at >= end) return null;
    const { kind, text, close } = this.#tokens;
    let found: Found<ValueSource> | null = null;
    if (kind[at] === PARAMETER) found = { value: { parameter: Number(text[at]) }, next: at + 1 };
    else if (kind[at] === STRING || kind[at] === NUMBER)
      found = { value: { literal: text[at] }, next: at + 1 };
    else if (this.#symbol(at, '-') && kind[at + 1] === NUMBER) {
      found = { value: { literal: `-${text[at + 1]}` }, next: at + 2 };
    } else if (this.#word(at, 'true') || this.#word(at, 'false')) {
      found = { value: { literal: text[at] }, next: at + 1 };
    } else if (this.#symbol(at, '(') && close[at] > 0) {
      const inner = this.#constant(at + 1, close[at]);
      if (inner !== null && inner.next === close[at]) found = { value: inner.value, next: close[at] + 1 };
    } else if (this.#word(at, 'cast') && this.#symbol(at + 1, '(')) {
      const inner = this.#constant(at + 2, close[at + 1]);
      if (inner !== null && this.#word(inner.next, 'as'))
        found = { value: inner.value, next: close[at + 1] + 1 };
    }
    return found === null ? null : { value: found.value, next: this.#skipCasts(found.next, end) };
  }

  #skipCasts(start: number, end: number): number {
    let at = start;
    while (at < end && this.#symbol(at, '::')) {
      at += 2;
      while (at < end && this.#symbol(at, '.')) at += 2;
      // `timestamp with time zone`, `double precision`
      while (at < end && this.#tokens.kind[at] === WORD && TYPE_WORDS.has(this.#tokens.text[at])) at++;
      if (at < end && this.#symbol(at, '(')) at = this.#tokens.close[at] + 1;
      while (at < end && this.#symbol(at, '[')) at += this.#symbol(at + 1, ']') ? 2 : 3;
    }
    return at;
  }

  /** Reads `schema.relation AS alias`. */
  #target(start: number): Found<Target> | null {
    if (!this.#isName(start)) return null;
    let at = start + 1;
    let relation = this.#tokens.text[start];
    while (this.#symbol(at, '.') && this.#isAnyName(at + 1)) {
      relation = this.#tokens.text[at + 1];
      at += 2;
    }
    if (this.#symbol(at, '*')) at++;
    const names = [relation];
    if (this.#word(at, 'as') && this.#isAnyName(at + 1)) {
      names.push(this.#tokens.text[at + 1]);
      at += 2;
    } else if (this.#isName(at) && !this.#isJoin(at)) {
      names.push(this.#tokens.text[at]);
      at++;
    }
    return { value: { relation, names }, next: at };
  }

  #names(open: number): string[] {
    const names: string[] = [];
    for (let at = open + 1; at < this.#tokens.close[open]; at++) {
      if (this.#isAnyName(at) && !this.#symbol(at + 1, '.')) names.push(this.#tokens.text[at]);
    }
    return names;
  }

  #isJoin(at: number): boolean {
    return this.#symbol(at, ',') || (this.#tokens.kind[at] === WORD && JOINS.has(this.#tokens.text[at]));
  }

  #isName(at: number): boolean {
    const kind = this.#tokens.kind[at];
    return kind === QUOTED || (kind === WORD && !RESERVED.has(this.#tokens.text[at]));
  }

  #isAnyName(at: number): boolean {
    return this.#tokens.kind[at] === QUOTED || this.#tokens.kind[at] === WORD;
  }

  #word(at: number, word: string): boolean {
    return this.#tokens.kind[at] === WORD && this.#tokens.text[at] === word;
  }

  #symbol(at: number, symbol: string): boolean {
    return this.#tokens.kind[at] === SYMBOL && this.#tokens.text[at] === symbol;
  }

  #precededBy(at: number, words: readonly string[]): boolean {
    return this.#tokens.kind[at - 1] === WORD && words.includes(this.#tokens.text[at - 1]);
  }

  #find(start: number, end: number, depth: number, word: string): number {
    for (let at = start; at < end; at++) {
      if (this.#tokens.depth[at] === depth && this.#word(at, word)) return at;
    }
    return -1;
  }

  /** @returns where the (sub)statement at `at` ends: its closing parenthesis, a semicolon, or the text. */
  #statementEnd(at: number): number {
    const depth = this.#tokens.depth[at];
    for (let i = at; i < this.#length; i++) {
      if (this.#tokens.depth[i] < depth) return i;
      if (depth === 0 && this.#symbol(i, ';')) return i;
    }
    return this.#length;
  }
}

interface Target {
  readonly relation: string;
  /** Relation and alias: what a column may be qualified with. */
  readonly names: readonly string[];
}

const TYPE_WORDS = new Set(['precision', 'varying', 'with', 'without', 'time', 'zone']);
