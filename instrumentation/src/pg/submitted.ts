import { wrapMethod } from '../core/patch.ts';
import type { PgClient, TransactionStatus } from './types.ts';
import type { QueryResult, WatchedStatement } from './watched-statement.ts';

/**
 * What drives the protocol by itself: a cursor, a stream, COPY, a query object. The client hands it the server's
 * messages and tells nobody else, so its end is seen where the client gets them.
 */
export interface Submittable {
  submit?: unknown;
  text?: unknown;
  values?: unknown;
  callback?: unknown;
  /** Of a stream: the cursor it reads. */
  cursor?: { text?: unknown };
  _result?: QueryResult;
}

interface Submitted {
  readonly query: Submittable;
  readonly statement: WatchedStatement;
  failed: boolean;
}

const kSubmitted = Symbol('waitfall.submitted');

interface SubmittingClient extends PgClient {
  /** Those whose end has not come yet, in the order of the client's queue. */
  [kSubmitted]?: Submitted[];
  _getActiveQuery?(): unknown;
  _activeQuery?: unknown;
  activeQuery?: unknown;
}

export function isSubmittable(query: unknown): query is Submittable {
  return typeof (query as Submittable | null | undefined)?.submit === 'function';
}

/** @returns the text of a query; undefined where it has none. */
export function textOf(query: Submittable): string | undefined {
  const text = query.text ?? query.cursor?.text;
  return typeof text === 'string' ? text : undefined;
}

/**
 * Patches what a client does with the server's messages. Older versions of pg do it elsewhere: there what is
 * submitted stays unwatched.
 */
export function patchMessages(prototype: object): void {
  wrapMethod(prototype, '_handleReadyForQuery', (inner) => {
    return function _handleReadyForQuery(this: SubmittingClient, message?: { status?: TransactionStatus }) {
      if (this[kSubmitted] !== undefined) ready(this, this[kSubmitted], message?.status);
      return inner().call(this, message);
    };
  });
  wrapMethod(prototype, '_handlePortalSuspended', (inner) => {
    return function _handlePortalSuspended(this: SubmittingClient, ...message: unknown[]) {
      // The first part is here. When the service asks for the next one is its own affair.
      activeOf(this)?.statement.replied(undefined);
      return inner().apply(this, message);
    };
  });
  wrapMethod(prototype, '_handleErrorMessage', (inner) => {
    return function _handleErrorMessage(this: SubmittingClient, ...message: unknown[]) {
      const active = activeOf(this);
      if (active !== undefined) {
        active.failed = true;
        active.statement.replied(message[0]);
      }
      return inner().apply(this, message);
    };
  });
}

/** @returns whether such a query gets an answer on this client, and its end can be seen. */
export function canSubmit(client: PgClient): boolean {
  const isOpen = client._queryable === true && client._ending !== true;
  // A pipelined client refuses most of them.
  return isOpen && client.pipeline !== true && '_handleReadyForQuery' in client;
}

/** From now on the query's end is looked for. */
export function submitted(client: PgClient, query: Submittable, statement: WatchedStatement): void {
  const list = ((client as SubmittingClient)[kSubmitted] ??= []);
  list.push({ query, statement, failed: false });
}

/** The connection is gone: none of them gets an answer any more. */
export function abandonSubmitted(client: SubmittingClient, error: unknown): void {
  const left = client[kSubmitted];
  if (left === undefined) return;
  client[kSubmitted] = undefined;
  for (const { statement } of left) statement.replied(error);
}

/** The server is ready for the next query: the one that ran has ended. */
function ready(client: SubmittingClient, list: Submitted[], status: TransactionStatus | undefined): void {
  // A query that failed is not the client's active one any more when the server is ready again.
  const ended = list[0].failed ? list[0] : activeOf(client);
  if (ended === undefined) return;
  // Those before it never reached the server: the client refused them.
  list.splice(0, list.indexOf(ended) + 1);
  if (list.length === 0) client[kSubmitted] = undefined;
  ended.statement.replied(undefined, ended.query._result, status);
}

function activeOf(client: SubmittingClient): Submitted | undefined {
  const list = client[kSubmitted];
  if (list === undefined) return undefined;
  const active = activeQueryOf(client);
  return list.find(({ query }) => query === active);
}

/** Newer versions warn of `activeQuery`, older ones have nothing else. */
function activeQueryOf(client: SubmittingClient): unknown {
  return '_activeQuery' in client ? client._activeQuery : client.activeQuery;
}
