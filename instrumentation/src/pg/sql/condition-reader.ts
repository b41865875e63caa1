import type { KeyPart, ValueSource } from './plan.ts';
import { type Found, TokenReader } from './token-reader.ts';
import { NUMBER, PARAMETER, STRING, WORD } from './tokens.ts';

const TYPE_WORDS = new Set(['precision', 'varying', 'with', 'without', 'time', 'zone']);

interface Column {
  readonly qualifier: string | null;
  readonly column: string;
}

/** Reads conditions: which columns a WHERE clause compares with which constants. */
export class ConditionReader extends TokenReader {
  protected row(open: number): (ValueSource | null)[] {
    const close = this.tokens.close[open];
    const inner = this.tokens.depth[open] + 1;
    const row: (ValueSource | null)[] = [];
    let start = open + 1;
    for (let at = start; at <= close; at++) {
      if (at < close && !(this.tokens.depth[at] === inner && this.symbol(at, ','))) continue;
      const found = this.constant(start, at);
      row.push(found !== null && found.next === at ? found.value : null);
      start = at + 1;
    }
    return row;
  }

  /** Reads `a AND b AND …`. @returns null where an OR makes the parts say nothing. */
  protected conjunction(
    start: number,
    end: number,
    names: readonly string[],
    joined: boolean,
  ): KeyPart[] | null {
    if (start >= end) return [];
    const depth = this.tokens.depth[start];
    if (this.find(start, end, depth, 'or') >= 0 || this.find(start, end, depth, 'case') >= 0) return null;
    const parts: KeyPart[] = [];
    let from = start;
    let between = false;
    for (let at = start; at <= end; at++) {
      if (at < end) {
        if (this.tokens.depth[at] !== depth) continue;
        if (this.word(at, 'between')) between = true;
        if (!this.word(at, 'and')) continue;
        if (between) {
          between = false;
          continue;
        }
      }
      parts.push(...this.comparison(from, at, names, joined));
      from = at + 1;
    }
    return parts;
  }

  protected comparison(start: number, end: number, names: readonly string[], joined: boolean): KeyPart[] {
    if (this.symbol(start, '(') && this.tokens.close[start] === end - 1) {
      return this.conjunction(start + 1, end - 1, names, joined) ?? [];
    }
    const pairs = this.rowComparison(start, end);
    if (pairs !== null) return pairs;
    const isOurs = (column: Column) =>
      column.qualifier === null ? !joined : names.includes(column.qualifier);
    const left = this.column(start, end);
    if (left !== null) {
      if (!isOurs(left.value)) return [];
      const value = this.comparedWith(left.next, end);
      return value === null ? [] : [{ column: left.value.column, value }];
    }
    const constant = this.constant(start, end);
    if (constant === null || !this.symbol(constant.next, '=')) return [];
    const right = this.column(constant.next + 1, end);
    if (right === null || right.next !== end || !isOurs(right.value)) return [];
    return [{ column: right.value.column, value: constant.value }];
  }

  /** Reads what follows a column: `= constant`, `= ANY(array)` or `IN (constants)`. */
  protected comparedWith(at: number, end: number): ValueSource | null {
    if (this.symbol(at, '=')) {
      if (this.word(at + 1, 'any') && this.symbol(at + 2, '(')) {
        const array = this.constant(at + 3, end);
        return array !== null && array.next === end - 1 && 'parameter' in array.value
          ? { array: array.value.parameter }
          : null;
      }
      const value = this.constant(at + 1, end);
      return value !== null && value.next === end ? value.value : null;
    }
    if (this.word(at, 'in') && this.symbol(at + 1, '(') && this.tokens.close[at + 1] === end - 1) {
      const row = this.row(at + 1);
      if (row.length === 0 || row.includes(null)) return null;
      return row.length === 1 ? row[0] : { list: row as ValueSource[] };
    }
    return null;
  }

  /** Reads `(a, b) = ($1, $2)`. */
  protected rowComparison(start: number, end: number): KeyPart[] | null {
    const close = this.symbol(start, '(') ? this.tokens.close[start] : -1;
    if (close < 0 || !this.symbol(close + 1, '=') || !this.symbol(close + 2, '(')) return null;
    if (this.tokens.close[close + 2] !== end - 1) return null;
    const columns = this.names(start);
    const values = this.row(close + 2);
    if (columns.length !== values.length || values.includes(null)) return [];
    return columns.map((column, i) => ({ column, value: values[i]! }));
  }

  protected column(at: number, end: number): Found<Column> | null {
    if (!this.isName(at)) return null;
    const names = [this.tokens.text[at]];
    let next = at + 1;
    while (next + 1 < end && this.symbol(next, '.') && this.isAnyName(next + 1)) {
      names.push(this.tokens.text[next + 1]);
      next += 2;
    }
    if (this.symbol(next, '(')) return null;
    return { value: { qualifier: names.at(-2) ?? null, column: names.at(-1)! }, next };
  }

  /** Reads a parameter or a literal, with its casts. */
  protected constant(at: number, end: number): Found<ValueSource> | null {
    if (at >= end) return null;
    const { kind, text, close } = this.tokens;
    let found: Found<ValueSource> | null = null;
    if (kind[at] === PARAMETER) found = { value: { parameter: Number(text[at]) }, next: at + 1 };
    else if (kind[at] === STRING || kind[at] === NUMBER)
      found = { value: { literal: text[at] }, next: at + 1 };
    else if (this.symbol(at, '-') && kind[at + 1] === NUMBER) {
      found = { value: { literal: `-${text[at + 1]}` }, next: at + 2 };
    } else if (this.word(at, 'true') || this.word(at, 'false')) {
      found = { value: { literal: text[at] }, next: at + 1 };
    } else if (this.symbol(at, '(') && close[at] > 0) {
      const inner = this.constant(at + 1, close[at]);
      if (inner !== null && inner.next === close[at]) found = { value: inner.value, next: close[at] + 1 };
    } else if (this.word(at, 'cast') && this.symbol(at + 1, '(')) {
      const inner = this.constant(at + 2, close[at + 1]);
      if (inner !== null && this.word(inner.next, 'as'))
        found = { value: inner.value, next: close[at + 1] + 1 };
    }
    return found === null ? null : { value: found.value, next: this.skipCasts(found.next, end) };
  }

  protected skipCasts(start: number, end: number): number {
    let at = start;
    while (at < end && this.symbol(at, '::')) {
      at += 2;
      while (at < end && this.symbol(at, '.')) at += 2;
      // `timestamp with time zone`, `double precision`
      while (at < end && this.tokens.kind[at] === WORD && TYPE_WORDS.has(this.tokens.text[at])) at++;
      if (at < end && this.symbol(at, '(')) at = this.tokens.close[at] + 1;
      while (at < end && this.symbol(at, '[')) at += this.symbol(at + 1, ']') ? 2 : 3;
    }
    return at;
  }
}
