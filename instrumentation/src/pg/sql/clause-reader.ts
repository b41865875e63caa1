import { ConditionReader } from './condition-reader.ts';
import { chooseKey, type KeyPart, type LockClause, type LockMode } from './plan.ts';
import type { Found } from './token-reader.ts';

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

/** The table a statement changes or reads. */
export interface Target {
  readonly relation: string;
  /** Relation and alias: what a column may be qualified with. */
  readonly names: readonly string[];
}

/** Reads the parts that statements with row locks share: their table, and the key in their condition. */
export class ClauseReader extends ConditionReader {
  /**
   * @param chosenElsewhere not only the condition decides which rows are locked.
   * @param assigned columns that get a new value.
   */
  protected lock(
    verb: string,
    mode: LockMode,
    target: Target,
    joined: boolean,
    start: number,
    end: number,
    depth: number,
    chosenElsewhere = false,
    assigned?: ReadonlySet<string>,
  ): LockClause {
    const where = this.find(start, end, depth, 'where');
    let equalities: KeyPart[] = [];
    let hasSubselect = false;
    if (where >= 0) {
      let stop = end;
      for (const word of CLAUSE_ENDS) {
        const at = this.find(where + 1, end, depth, word);
        if (at >= 0 && at < stop) stop = at;
      }
      equalities = this.conjunction(where + 1, stop, target.names, joined) ?? [];
      for (let at = where + 1; at < stop; at++) if (this.word(at, 'select')) hasSubselect = true;
    }
    return {
      relation: target.relation,
      mode,
      onConflict: 'block',
      summary:
        verb === 'SELECT FOR'
          ? `SELECT ${target.relation} FOR ${mode.replaceAll('-', ' ').toUpperCase()}`
          : `${verb} ${target.relation}`,
      ...chooseKey(target.relation, equalities, chosenElsewhere || hasSubselect, assigned),
    };
  }

  /** Reads `schema.relation AS alias`. */
  protected target(start: number): Found<Target> | null {
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
