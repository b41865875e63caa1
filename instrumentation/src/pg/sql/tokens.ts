/** Kinds of SQL tokens; words are lower-cased, quoted identifiers keep their case and are never keywords. */
export const WORD = 1;
export const QUOTED = 2;
export const PARAMETER = 3;
export const NUMBER = 4;
export const STRING = 5;
export const SYMBOL = 6;

/** A text as parallel arrays: what each token is, what it says, how deep in parentheses it stands. */
export interface Tokens {
  readonly kind: number[];
  readonly text: string[];
  /** Open parentheses around the token; a parenthesis itself has the depth outside it. */
  readonly depth: number[];
  /** For an opening parenthesis: the index of its closing one, else -1. */
  readonly close: number[];
}

const TWO_CHARACTER = new Set(['::', '<=', '>=', '<>', '!=', '||', '->', ':=', '=>']);
const SPACE = /\s/;
const WORD_START = /[A-Za-z_\u0080-\uffff]/;
const WORD_REST = /[\w$\u0080-\uffff]*/y;
const NUMBER_REST = /[\d.]*(?:e[+-]?\d+)?/iy;
const DOLLAR_TAG = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;

/** Splits SQL into tokens without judging it: comments dropped, strings and quoted identifiers decoded. */
export function tokenize(sql: string): Tokens {
  const tokens: Tokens = { kind: [], text: [], depth: [], close: [] };
  const open: number[] = [];
  let at = 0;
  const push = (kind: number, text: string, end: number) => {
    tokens.kind.push(kind);
    tokens.text.push(text);
    tokens.depth.push(open.length);
    tokens.close.push(-1);
    at = end;
  };
  while (at < sql.length) {
    const c = sql[at];
    if (SPACE.test(c)) at++;
    else if (c === '-' && sql[at + 1] === '-') at = lineEnd(sql, at);
    else if (c === '/' && sql[at + 1] === '*') at = commentEnd(sql, at);
    else if (c === "'") {
      const [value, end] = quoted(sql, at, "'", false);
      push(STRING, value, end);
    } else if (c === '"') {
      const [value, end] = quoted(sql, at, '"', false);
      push(QUOTED, value, end);
    } else if ((c === 'e' || c === 'E') && sql[at + 1] === "'") {
      const [value, end] = quoted(sql, at + 1, "'", true);
      push(STRING, value, end);
    } else if (c === '$' && isDigit(sql[at + 1])) {
      let end = at + 2;
      while (isDigit(sql[end])) end++;
      push(PARAMETER, sql.slice(at + 1, end), end);
    } else if (c === '$' && matchAt(DOLLAR_TAG, sql, at) > at) {
      const tag = sql.slice(at, matchAt(DOLLAR_TAG, sql, at));
      const end = sql.indexOf(tag, at + tag.length);
      push(
        STRING,
        sql.slice(at + tag.length, end < 0 ? sql.length : end),
        end < 0 ? sql.length : end + tag.length,
      );
    } else if (WORD_START.test(c)) {
      const end = matchAt(WORD_REST, sql, at);
      push(WORD, sql.slice(at, end).toLowerCase(), end);
    } else if (isDigit(c)) {
      const end = matchAt(NUMBER_REST, sql, at);
      push(NUMBER, sql.slice(at, end), end);
    } else if (c === '(') {
      push(SYMBOL, c, at + 1);
      open.push(tokens.kind.length - 1);
    } else if (c === ')') {
      const opening = open.pop();
      push(SYMBOL, c, at + 1);
      if (opening !== undefined) tokens.close[opening] = tokens.kind.length - 1;
    } else {
      const two = sql.slice(at, at + 2);
      const text = TWO_CHARACTER.has(two) ? two : c;
      push(SYMBOL, text, at + text.length);
    }
  }
  return tokens;
}

function isDigit(c: string | undefined): boolean {
  return c !== undefined && c >= '0' && c <= '9';
}

function matchAt(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : at;
}

function lineEnd(sql: string, at: number): number {
  const end = sql.indexOf('\n', at);
  return end < 0 ? sql.length : end;
}

/** Comments nest in PostgreSQL. */
function commentEnd(sql: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < sql.length) {
    if (sql[at] === '/' && sql[at + 1] === '*') {
      depth++;
      at += 2;
    } else if (sql[at] === '*' && sql[at + 1] === '/') {
      depth--;
      at += 2;
      if (depth === 0) return at;
    } else at++;
  }
  return at;
}

/** @returns the decoded text of a quoted token that opens at `start`, and where it ends. */
function quoted(sql: string, start: number, quote: string, escapes: boolean): [string, number] {
  let value = '';
  let at = start + 1;
  while (at < sql.length) {
    const c = sql[at];
    if (escapes && c === '\\') {
      value += sql[at + 1] ?? '';
      at += 2;
    } else if (c === quote) {
      if (sql[at + 1] !== quote) return [value, at + 1];
      value += quote;
      at += 2;
    } else {
      value += c;
      at++;
    }
  }
  return [value, at];
}
