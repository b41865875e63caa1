import { AttributeReader } from '../model/attribute-reader.ts';
import { Names } from '../model/names.ts';
import { PairIds } from '../model/pair-ids.ts';
import { KIND } from '../model/span.ts';
import type { SpanTable } from '../model/span-table.ts';

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
export const MOST_TEXTS = 200;
const LITERAL = /'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b/g;

/** Reads statements from spans of database clients; texts are parsed once each, and told apart by their string ids. */
export class StatementReader {
  /** Every operation met: verb and relation (else the span's name), form of the text, and route. */
  readonly #operations: Names;
  readonly #table: SpanTable;
  readonly #text: readonly AttributeReader[];
  readonly #operation: readonly AttributeReader[];
  readonly #relation: readonly AttributeReader[];
  readonly #system: readonly AttributeReader[];
  /** Chained: (text, operation), relation, name. */
  readonly #pairs = [new PairIds(), new PairIds(), new PairIds()] as const;
  /** By row: its number and one more; 0 where nobody has asked yet. */
  readonly #numbers: Uint32Array;
  readonly #parsed: Statement[] = [];
  readonly #forms = new Map<number, string>();
  /** By number of (statement, whether it is one) and route. */
  readonly #calls = new PairIds();
  readonly #operationOfCall: number[] = [];
  #fewTexts: boolean | null;

  /** @param fewTexts whether the whole input has few enough texts, where this table is only a part of it. */
  constructor(table: SpanTable, operations = new Names(), fewTexts: boolean | null = null) {
    const readers = (...keys: string[]) =>
      keys.map((key) => new AttributeReader(table, key)).filter((reader) => !reader.isAbsent);
    this.#table = table;
    this.#numbers = new Uint32Array(table.length);
    this.#operations = operations;
    this.#fewTexts = fewTexts;
    this.#text = readers('db.query.text', 'db.statement');
    this.#operation = readers('db.operation.name', 'db.operation');
    this.#relation = readers('db.collection.name', 'db.sql.table');
    this.#system = readers('db.system.name', 'db.system');
  }

  /** @returns null for spans that are no database call. */
  of(row: number): Statement | null {
    return this.#isStatement(row) ? this.#statement(row, this.#number(row)) : null;
  }

  /** @returns the same number for calls that say the same about themselves: name, statement, whether it is one. */
  callNumber(row: number): number {
    return this.#number(row) * 2 + (this.#isStatement(row) ? 1 : 0);
  }

  /**
   * @param routes names of the routes by number
   * @returns what the calls of one operation have in common, as a number: what it is stands in the names given.
   */
  operationOf(row: number, route: number, routes: readonly string[]): number {
    const number = this.#number(row);
    const isStatement = this.#isStatement(row);
    const call = this.#calls.of(number * 2 + (isStatement ? 1 : 0), route);
    const known = this.#operationOfCall[call];
    if (known !== undefined) return known;
    const statement = isStatement ? this.#statement(row, number) : null;
    const what = statement?.relation ? `${statement.verb} ${statement.relation}` : this.#name(row);
    const id = this.#operations.of(`${what}\0${this.form(row)}\0${routes[route]}`);
    this.#operationOfCall[call] = id;
    return id;
  }

  /**
   * What tells statements of one verb and relation apart: two SELECTs of a route may cost 2 ms and 80 ms. The text itself,
   * or its form without literals where texts are too many; empty where no text is recorded.
   */
  form(row: number): string {
    const id = first(row, this.#text);
    if (id === 0) return '';
    const text = this.#table.strings.text(id);
    this.#fewTexts ??= this.texts().size <= MOST_TEXTS;
    if (this.#fewTexts) return text;
    let form = this.#forms.get(id);
    if (form === undefined) {
      form = text.replace(LITERAL, '?');
      this.#forms.set(id, form);
    }
    return form;
  }

  #isStatement(row: number): boolean {
    return (
      first(row, this.#text) !== 0 || first(row, this.#operation) !== 0 || first(row, this.#system) !== 0
    );
  }

  /** @returns the same number for rows that say the same about their statement and have the same name. */
  #number(row: number): number {
    const known = this.#numbers[row];
    if (known > 0) return known - 1;
    const [texts, relations, names] = this.#pairs;
    const said = texts.of(first(row, this.#text), first(row, this.#operation));
    const number = names.of(relations.of(said, first(row, this.#relation)), this.#table.name[row]);
    this.#numbers[row] = number + 1;
    return number;
  }

  #statement(row: number, number: number): Statement {
    let parsed = this.#parsed[number];
    if (parsed === undefined) {
      const { strings } = this.#table;
      const [text, operation, relation] = [this.#text, this.#operation, this.#relation].map((readers) =>
        strings.text(first(row, readers)),
      );
      parsed = parse(text || this.#name(row), operation, relation);
      this.#parsed[number] = parsed;
    }
    return parsed;
  }

  #name(row: number): string {
    return this.#table.strings.text(this.#table.name[row]);
  }

  /**
   * Texts of statements by string id, up to one more than are told apart. Over the whole input, so that the answer does
   * not depend on the order of its spans.
   */
  texts(): Set<number> {
    const texts = new Set<number>();
    for (let row = 0; row < this.#table.length && texts.size <= MOST_TEXTS; row++) {
      if (this.#table.kind[row] === KIND.client) texts.add(first(row, this.#text));
    }
    return texts;
  }
}

/** @returns the string id of the first text that is there and not empty; 0 without one. */
function first(row: number, readers: readonly AttributeReader[]): number {
  for (const reader of readers) {
    const id = reader.textId(row);
    if (id > 0) return id;
  }
  return 0;
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
