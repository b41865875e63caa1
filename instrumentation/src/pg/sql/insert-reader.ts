import { ClauseReader } from './clause-reader.ts';
import { chooseKey, isIdOf, type KeyPart, type LockClause, type ValueSource } from './plan.ts';

/** More columns than this are no row of one parent each that anybody waits for. */
const MAX_PARENTS = 8;

/** Reads INSERT: the row an upsert changes, the key a new row takes, and the parents an inserted row takes a share of. */
export class InsertReader extends ClauseReader {
  /**
   * @returns what the INSERT at `at` takes: with ON CONFLICT DO UPDATE the row that is there already, else its key,
   * for which another INSERT of the same one waits; null where none begins there, or its key cannot be told.
   */
  lockAt(at: number): LockClause | null {
    if (!this.word(at + 1, 'into')) return null;
    const end = this.statementEnd(at);
    const depth = this.tokens.depth[at];
    const target = this.target(at + 2);
    if (target === null) return null;
    const { relation } = target.value;
    const columns = this.symbol(target.next, '(') ? this.names(target.next) : [];
    const on = this.find(target.next, end, depth, 'on');
    if (on < 0 || !this.word(on + 1, 'conflict')) {
      const ids = columns.filter((column) => isIdOf(relation, column));
      return ids.length === 1 ? this.#inserted(relation, columns, ids, target.next, end, depth) : null;
    }
    const conflict = this.symbol(on + 2, '(') ? this.names(on + 2) : [];
    const action = this.find(on, end, depth, 'do');
    if (action < 0) return null;
    if (!this.word(action + 1, 'update'))
      return this.#inserted(relation, columns, conflict, target.next, on, depth);
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

  /** @param unique columns of which each value is inserted once. */
  #inserted(
    relation: string,
    columns: string[],
    unique: string[],
    start: number,
    end: number,
    depth: number,
  ): LockClause | null {
    const equalities = unique.length > 0 ? this.#insertedKey(columns, unique, start, end, depth) : [];
    const { key } = chooseKey(relation, equalities);
    return key === null
      ? null
      : {
          relation,
          mode: 'insert',
          onConflict: 'block',
          summary: `INSERT ${relation}`,
          key,
          identifies: true,
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

  /**
   * An inserted row takes a share of the row its foreign key points to. Which relation that is stands in the
   * catalog, not in the text: `order_id` is taken for a row of `order` or `orders`.
   */
  parentsAt(at: number): LockClause[] {
    if (!this.word(at + 1, 'into')) return [];
    const target = this.target(at + 2);
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
}
