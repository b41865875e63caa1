import { QUOTED, SYMBOL, type Tokens, WORD } from './tokens.ts';

/** Words that end a clause or cannot be a name where we read names. */
const RESERVED = new Set(
  `all and any array as asc between by case cast check conflict cross default desc distinct do else end except
  exists false fetch for from full group having ilike in inner intersect into is isnull join lateral left like
  limit natural not notnull null offset on only or order outer overlaps overriding returning right select set
  similar some table then to true union unique using values when where window with`.split(/\s+/),
);
const JOINS = new Set(['join', 'inner', 'left', 'right', 'full', 'cross', 'natural', 'using', 'from']);

/** Something that was read, and where the tokens after it begin. */
export interface Found<T> {
  readonly value: T;
  readonly next: number;
}

/** Looks at the tokens of a text by position; knows no grammar. */
export class TokenReader {
  protected readonly tokens: Tokens;
  protected readonly length: number;

  constructor(tokens: Tokens) {
    this.tokens = tokens;
    this.length = tokens.kind.length;
  }

  protected names(open: number): string[] {
    const names: string[] = [];
    for (let at = open + 1; at < this.tokens.close[open]; at++) {
      if (this.isAnyName(at) && !this.symbol(at + 1, '.')) names.push(this.tokens.text[at]);
    }
    return names;
  }

  protected isJoin(at: number): boolean {
    return this.symbol(at, ',') || (this.tokens.kind[at] === WORD && JOINS.has(this.tokens.text[at]));
  }

  protected isName(at: number): boolean {
    const kind = this.tokens.kind[at];
    return kind === QUOTED || (kind === WORD && !RESERVED.has(this.tokens.text[at]));
  }

  protected isAnyName(at: number): boolean {
    return this.tokens.kind[at] === QUOTED || this.tokens.kind[at] === WORD;
  }

  protected word(at: number, word: string): boolean {
    return this.tokens.kind[at] === WORD && this.tokens.text[at] === word;
  }

  protected symbol(at: number, symbol: string): boolean {
    return this.tokens.kind[at] === SYMBOL && this.tokens.text[at] === symbol;
  }

  protected precededBy(at: number, words: readonly string[]): boolean {
    return this.tokens.kind[at - 1] === WORD && words.includes(this.tokens.text[at - 1]);
  }

  protected find(start: number, end: number, depth: number, word: string): number {
    for (let at = start; at < end; at++) {
      if (this.tokens.depth[at] === depth && this.word(at, word)) return at;
    }
    return -1;
  }

  /** @returns where the (sub)statement at `at` ends: its closing parenthesis, a semicolon, or the text. */
  protected statementEnd(at: number): number {
    const depth = this.tokens.depth[at];
    for (let i = at; i < this.length; i++) {
      if (this.tokens.depth[i] < depth) return i;
      if (depth === 0 && this.symbol(i, ';')) return i;
    }
    return this.length;
  }
}
