/**
 * Row lock modes by strength: FOR KEY SHARE, FOR SHARE, FOR NO KEY UPDATE, FOR UPDATE. And the key of a new row:
 * whoever inserts the same one waits for its transaction, and it for those that change or delete a row with it.
 */
export type LockMode = 'key-share' | 'share' | 'no-key-update' | 'update' | 'insert';

/** Which modes exclude each other: https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-ROWS */
const CONFLICTS: Record<LockMode, readonly LockMode[]> = {
  'key-share': ['update'],
  share: ['no-key-update', 'update'],
  'no-key-update': ['share', 'no-key-update', 'update', 'insert'],
  update: ['key-share', 'share', 'no-key-update', 'update'],
  insert: ['no-key-update', 'update', 'insert'],
};

export function conflicts(a: LockMode, b: LockMode): boolean {
  return CONFLICTS[a].includes(b);
}

/** Only these exclude their own kind and last as long as they are wanted: one server per row. */
export function isExclusive(mode: LockMode): boolean {
  return mode === 'update' || mode === 'no-key-update';
}

/** Where the value of a key column stands: a parameter, the text itself, a list, or an array parameter. */
export type ValueSource =
  | { readonly parameter: number }
  | { readonly literal: string }
  | { readonly list: readonly ValueSource[] }
  | { readonly array: number };

export interface KeyPart {
  readonly column: string;
  readonly value: ValueSource;
}

/** One place of a statement that locks rows. */
export interface LockClause {
  /** Last part of the relation's name. */
  readonly relation: string;
  readonly mode: LockMode;
  /** What happens when another transaction has the row. */
  readonly onConflict: 'block' | 'nowait' | 'skip';
  /** For people: `UPDATE campaign`. Never holds a value. */
  readonly summary: string;
  /** Columns compared with constants, sorted; null where the rows cannot be told from the text. */
  readonly key: readonly KeyPart[] | null;
  /** The key is one id-like column: it names one row. */
  readonly identifies: boolean;
  /** The relation is guessed from the name of a column: nobody is taken for its holder. */
  readonly guessed?: boolean;
  /** Held beyond the transaction, until it is given back or the connection ends. */
  readonly session?: boolean;
}

/** What a statement gives back of what is held beyond transactions. */
export type Unlock = LockClause | 'all';

export type TransactionOp =
  | { readonly op: 'begin' | 'commit' | 'rollback' | 'prepare' }
  | { readonly op: 'savepoint' | 'release' | 'rollback-to'; readonly name: string };

/** What a statement's text says about locks; computed once per distinct text. */
export interface StatementPlan {
  readonly locks: readonly LockClause[];
  /** Set where the text is one statement that controls the transaction. */
  readonly transaction: TransactionOp | null;
  /** Number of statements in the text: with more than one, a row count says nothing about a single lock. */
  readonly statements: number;
  readonly unlocks: readonly Unlock[];
  /** The text without the values that stand in it; absent where nothing is locked. */
  readonly shape?: string;
}

export const EMPTY_PLAN: StatementPlan = { locks: [], transaction: null, statements: 1, unlocks: [] };

/** Names that stand for one row, in lower case. */
const ID_LIKE = new Set(['id', '_id', 'uuid', 'guid', 'pk', 'objectid']);

/**
 * Chooses the key among the equality columns: an id-like one alone, else all of them. Of several, one that gets a new
 * value says in which state the row is wanted, not which row.
 *
 * @param chosenElsewhere something else decides which of the rows with these columns are meant: only an id is a key.
 * @param assigned columns that get a new value.
 */
export function chooseKey(
  relation: string,
  equalities: readonly KeyPart[],
  chosenElsewhere = false,
  assigned?: ReadonlySet<string>,
): { key: readonly KeyPart[] | null; identifies: boolean } {
  const byColumn = new Map<string, KeyPart>();
  for (const part of equalities) if (!byColumn.has(part.column)) byColumn.set(part.column, part);
  const parts = [...byColumn.values()];
  if (parts.length === 0) return { key: null, identifies: false };
  const ids = parts.filter((part) => isIdOf(relation, part.column));
  if (ids.length === 1) return { key: ids, identifies: true };
  if (chosenElsewhere) return { key: null, identifies: false };
  parts.sort((a, b) => (a.column < b.column ? -1 : 1));
  const lasting = parts.filter(({ column }) => assigned?.has(column) !== true);
  const chosen = lasting.length > 1 ? lasting : parts;
  const several = chosen.filter((part) => 'list' in part.value || 'array' in part.value);
  return { key: several.length > 1 ? null : chosen, identifies: false };
}

/** @returns whether a column names one row of its relation by itself. */
export function isIdOf(relation: string, column: string): boolean {
  if (ID_LIKE.has(column.toLowerCase())) return true;
  const names = relation.endsWith('s') ? [relation, relation.slice(0, -1)] : [relation];
  return names.some((name) => column === `${name}_id` || column === `${name}Id`);
}
