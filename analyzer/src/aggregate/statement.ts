import { KIND } from '../model/span.ts';
import { attributeById, attributeKey, type SpanTable } from '../model/span-table.ts';

/** What a database statement does, as far as its span tells. */
export interface Statement {
  /** Upper case: SELECT, UPDATE, COMMIT, …; empty when it is no statement. */
  readonly verb: string;
  /** First relation it writes or reads; empty when its text is not recorded. */
  readonly relation: string;
  /** It locks rows: UPDATE, DELETE, SELECT … FOR UPDATE / SHARE. */
  readonly locksRows: boolean;
}

const VERB = /\b(SELECT|INSERT|UPDATE|DELETE|MERGE|BEGIN|START TRANSACTION|COMMIT|ROLLBACK|WITH|CALL)\b/i;
const RELATION = /\b(?:UPDATE|INTO|FROM|MERGE\s+INTO)\s+(?:ONLY\s+)?("?[\w$]+"?(?:\."?[\w$]+"?)?)/i;
const UPDATED = /\bUPDATE\s+(?:ONLY\s+)?("?[\w$]+"?(?:\."?[\w$]+"?)?)\s+SET\b/i;
const FOR_UPDATE = /\bFOR\s+(?:NO\s+KEY\s+)?(?:UPDATE|SHARE|KEY\s+SHARE)\b/i;

/** With more texts than this the values are written into them; then only their form tells statements apart. */
const MOST_TEXTS = 200;
const LITERAL = /'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b/g;

/** Reads statements from spans of database clients; texts are parsed once each. */
export class StatementReader {
  readonly #table: SpanTable;
  readonly #text: readonly number[];
  readonly #operation: readonly number[];
  readonly #relation: readonly number[];
  readonly #system: readonly number[];
  readonly #parsed = new Map<string, Statement>();
  readonly #forms = new Map<string, string>();
  #fewTexts: boolean | null = null;

  constructor(table: SpanTable) {
    const ids = (...keys: string[]) => keys.map((key) => attributeKey(table, key)).filter((id) => id >= 0);
    this.#table = table;
    this.#text = ids('db.query.text', 'db.statement');
    this.#operation = ids('db.operation.name', 'db.operation');
    this.#relation = ids('db.collection.name', 'db.sql.table');
    this.#system = ids('db.system.name', 'db.system');
  }

  /** @returns null for spans that are no database call. */
  of(row: number): Statement | null {
    const text = this.#first(row, this.#text);
    const operation = this.#first(row, this.#operation);
    if (text === '' && operation === '' && this.#first(row, this.#system) === '') return null;
    const name = this.#table.strings.text(this.#table.name[row]);
    const relation = this.#first(row, this.#relation);
    const key = `${operation}\0${relation}\0${text}\0${name}`;
    let parsed = this.#parsed.get(key);
    if (!parsed) {
      parsed = parse(text || name, operation, relation);
      this.#parsed.set(key, parsed);
    }
    return parsed;
  }

  /**
   * What tells statements of one verb and relation apart: two SELECTs of a route may cost 2 ms and 80 ms. The text itself,
   * or its form without literals where texts are too many; empty where no text is recorded.
   */
  form(row: number): string {
    const text = this.#first(row, this.#text);
    if (text === '') return '';
    this.#fewTexts ??= this.#countTexts() <= MOST_TEXTS;
    if (this.#fewTexts) return text;
    let form = this.#forms.get(text);
    if (form === undefined) {
      form = text.replace(LITERAL, '?');
      this.#forms.set(text, form);
    }
    return form;
  }

  /** Over the whole input, so that the answer does not depend on the order of its spans. */
  #countTexts(): number {
    const texts = new Set<string>();
    for (let row = 0; row < this.#table.length && texts.size <= MOST_TEXTS; row++) {
      if (this.#table.kind[row] === KIND.client) texts.add(this.#first(row, this.#text));
    }
    return texts.size;
  }

  #first(row: number, keys: readonly number[]): string {
    for (const key of keys) {
      const value = attributeById(this.#table, row, key);
      if (typeof value === 'string' && value !== '') return value;
    }
    return '';
  }
}

function parse(text: string, operation: string, relation: string): Statement {
  const named = operation || VERB.exec(text)?.[1] || '';
  const updated = UPDATED.exec(text)?.[1];
  // `WITH … UPDATE …` locks like the UPDATE in it.
  const verb = (updated && /^(WITH)?$/i.test(named) ? 'UPDATE' : named).toUpperCase();
  const found = relation || updated || RELATION.exec(text)?.[1] || '';
  return {
    verb,
    relation: found.replaceAll('"', ''),
    locksRows: verb === 'UPDATE' || verb === 'DELETE' || updated !== undefined || FOR_UPDATE.test(text),
  };
}
