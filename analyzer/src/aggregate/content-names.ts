import { PREFIX_HTTP_AGENT, PREFIX_LOCK, SEGMENTS } from '@waitfall/instrumentation/conventions';
import { isWait } from '../classify/classify.ts';
import { KIND } from '../model/span.ts';
import type { SpanTable } from '../model/span-table.ts';
import type { Queue } from './activity.ts';
import type { Series } from './series.ts';
import type { Statement, StatementReader } from './statement.ts';

const DOWNSTREAM = SEGMENTS.indexOf('downstream');
/** Calls are numbered apart from waits. */
const CALLS = 2 ** 40;

export interface Content {
  readonly what: string;
  readonly movable: boolean;
}

/** Takes what the holds of a queue consist of, by name. */
export interface NamedSums {
  addNamed(queue: number, content: Content, request: number, ns: number): void;
}

/**
 * Names what holds consist of: waits by queue, statements by verb and relation, calls by span name. A name is built once
 * for all pieces that share it.
 */
export class ContentNames {
  readonly #table: SpanTable;
  readonly #series: readonly Series[];
  readonly #statements: StatementReader;
  readonly #sums: NamedSums;
  /** By queue: contents by number of what they are. */
  readonly #known: Map<number, Content>[];

  constructor(table: SpanTable, series: readonly Series[], statements: StatementReader, sums: NamedSums) {
    this.#table = table;
    this.#series = series;
    this.#statements = statements;
    this.#sums = sums;
    this.#known = series.map(() => new Map());
  }

  /** Adds a piece of a span to what the holds of a queue consist of. `queue`: the one it belongs to, -1 for none. */
  add(own: Series, row: number, segment: number, queue: number, request: number, ns: number): void {
    const known = this.#known[own.queue.index];
    const isClient = this.#table.kind[row] === KIND.client;
    const number =
      segment === DOWNSTREAM
        ? CALLS + this.#statements.callNumber(row) * 2 + (isClient ? 1 : 0)
        : (queue + 1) * SEGMENTS.length + segment;
    let content = known.get(number);
    if (content === undefined) {
      content = this.#content(own, row, segment, queue, isClient);
      known.set(number, content);
    }
    this.#sums.addNamed(own.queue.index, content, request, ns);
  }

  #content(own: Series, row: number, segment: number, queue: number, isClient: boolean): Content {
    let what: string = SEGMENTS[segment];
    let movable = false;
    if (isWait(segment)) what = `${what} ${queue >= 0 ? this.#series[queue].queue.name : ''}`.trim();
    else if (segment === DOWNSTREAM) {
      const statement = this.#statements.of(row);
      what = statement?.relation
        ? `${statement.verb} ${statement.relation}`.trim()
        : statement?.verb
          ? statement.verb
          : this.#table.strings.text(this.#table.name[row]);
      movable = isClient && isMovable(own.queue, statement);
    }
    return { what, movable };
  }
}

/**
 * Whether a call inside a hold does without the resource: a statement on another relation than the locked one, or, in a
 * row lock or on a pooled database connection, a call to something that is no database.
 */
function isMovable(queue: Queue, statement: Statement | null): boolean {
  if (queue.kind === 'lock') {
    if (statement === null) return true;
    const locked = queue.name.slice(PREFIX_LOCK.length);
    return statement.relation !== '' && bare(statement.relation) !== bare(locked);
  }
  return queue.kind === 'pool' && !queue.name.startsWith(PREFIX_HTTP_AGENT) && statement === null;
}

/** Without a schema in front. */
function bare(relation: string): string {
  return relation.slice(relation.lastIndexOf('.') + 1).toLowerCase();
}
