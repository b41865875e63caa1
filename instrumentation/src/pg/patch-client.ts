import { activeContext } from '../core/active-context.ts';
import { isSampled } from '../core/emit.ts';
import { wrapMethod } from '../core/patch.ts';
import { takeQuerySpan } from '../core/started-span.ts';
import { type ConnectSwitch, patchConnect } from './client-connect.ts';
import { ConnectionLocks } from './locks/connection-locks.ts';
import { DatabaseRows } from './locks/rows.ts';
import { takeDispatching } from './pool-query.ts';
import { type CachedPlan, PlanCache } from './sql/plan-cache.ts';
import {
  abandonSubmitted,
  canSubmit,
  isSubmittable,
  patchMessages,
  type Submittable,
  submitted,
  textOf,
} from './submitted.ts';
import type { PgClient } from './types.ts';
import { type QueryCallback, type QueryResult, WatchedStatement } from './watched-statement.ts';

/** Longest list of named statements remembered per connection. */
const MAX_NAMED = 1_000;

/** What is recorded of statements; wrappers stay in place when it is switched off and only pass on. */
export interface ClientSwitch extends ConnectSwitch {
  statements: boolean;
  rowLocks: boolean;
  lockSalt: string | undefined;
}

interface QueryConfig extends Submittable {
  name?: unknown;
}

const plans = new PlanCache();
const databases = new Map<string, DatabaseRows>();
const connections = new WeakMap<PgClient, Connection>();

interface Connection {
  readonly locks: ConnectionLocks;
  readonly named: Map<string, CachedPlan>;
}

/** Patches the prototype of a `pg.Client` class, native or not. @returns whether anything was patched. */
export function patchClient(Client: { prototype: object }, on: ClientSwitch): boolean {
  const patched = wrapMethod(Client.prototype, 'query', (inner) => {
    return function query(this: PgClient, ...args: unknown[]) {
      const statement = on.statements ? begin(this, args, on, this.query === query) : undefined;
      return statement === undefined
        ? unwatched(this, inner(), args)
        : watched(this, inner(), args, statement);
    };
  });
  wrapMethod(Client.prototype, 'end', (inner) => {
    return function end(this: PgClient, ...args: unknown[]) {
      connections.get(this)?.locks.disconnected();
      return inner().apply(this, args);
    };
  });
  // Called when the connection breaks or the server ends the session, whoever uses it.
  wrapMethod(Client.prototype, '_errorAllQueries', (inner) => {
    return function _errorAllQueries(this: PgClient, ...args: unknown[]) {
      connections.get(this)?.locks.disconnected();
      abandonSubmitted(this, args[0]);
      return inner().apply(this, args);
    };
  });
  patchMessages(Client.prototype);
  patchConnect(Client.prototype, on);
  return patched;
}

/** @returns what to watch, or undefined for what goes through as it is. */
function begin(
  client: PgClient,
  args: unknown[],
  on: ClientSwitch,
  isOutermost: boolean,
): WatchedStatement | undefined {
  try {
    const [first, second] = args;
    let connection = connections.get(client);
    let plan: CachedPlan | undefined;
    let text: string | undefined;
    let values = Array.isArray(second) ? second : undefined;
    let officialEnds = true;
    if (typeof first === 'string') {
      text = first;
      plan = plans.get(first);
    } else if (typeof first === 'object' && first !== null) {
      const config = first as QueryConfig;
      if (isSubmittable(config)) {
        if (!canSubmit(client)) return undefined;
        officialEnds = typeof config.callback === 'function';
      }
      text = textOf(config);
      plan = text === undefined ? prepared(config, connection) : plans.get(text);
      values ??= Array.isArray(config.values) ? config.values : undefined;
    }
    if (plan === undefined) return undefined;
    const caller = activeContext();
    const locks =
      plan.locks.length > 0 || plan.transaction !== null || plan.statements > 1 || plan.unlocks.length > 0;
    const isInvolved = on.rowLocks && (locks || connection?.locks.isInvolved === true);
    if (!isInvolved && !isSampled(caller)) return undefined;
    if (isInvolved) {
      if (connection === undefined) {
        connection = {
          locks: new ConnectionLocks(rowsOf(client, on), client.pipeline === true),
          named: new Map(),
        };
        connections.set(client, connection);
      }
      if (typeof first === 'object') rememberName(first as QueryConfig, plan, connection);
    }
    const lockWatch = isInvolved ? connection?.locks : undefined;
    return new WatchedStatement({
      client,
      caller,
      locks: lockWatch,
      plan,
      text,
      values,
      officialEnds,
      // A `query` that somebody has put around ours may run anything in its callback.
      isPoolsOwn: takeDispatching() && isOutermost,
    });
  } catch {
    return undefined;
  }
}

/** A prepared statement may be run again by its name alone. */
function prepared(config: QueryConfig, connection: Connection | undefined): CachedPlan | undefined {
  return typeof config.name === 'string' ? connection?.named.get(config.name) : undefined;
}

function rememberName(config: QueryConfig, plan: CachedPlan, connection: Connection): void {
  if (typeof config.name === 'string' && connection.named.size < MAX_NAMED)
    connection.named.set(config.name, plan);
}

function rowsOf(client: PgClient, on: ClientSwitch): DatabaseRows {
  const { host, port, database } = client.connectionParameters ?? client;
  const id = `${host}:${port}/${database}`;
  let rows = databases.get(id);
  if (rows === undefined) {
    rows = new DatabaseRows(host ?? '', database ?? '', on.lockSalt);
    databases.set(id, rows);
  }
  return rows;
}

/** Hands on what is not recorded. The span the official instrumentation made for it is nobody else's. */
function unwatched(client: PgClient, query: (...args: unknown[]) => unknown, args: unknown[]): unknown {
  try {
    return query.apply(client, args);
  } finally {
    takeQuerySpan();
  }
}

/** Hands the statement on in the style it was called, and takes note of its reply before the caller does. */
function watched(
  client: PgClient,
  query: (...args: unknown[]) => unknown,
  args: unknown[],
  statement: WatchedStatement,
): unknown {
  try {
    const result = callInStyle(client, query, args, statement);
    if (isSubmittable(args[0])) submitted(client, args[0], statement);
    return isThenable(result) ? settled(result, statement) : result;
  } catch (error) {
    statement.replied(error);
    throw error;
  } finally {
    statement.handedOn();
  }
}

function callInStyle(
  client: PgClient,
  query: (...args: unknown[]) => unknown,
  args: unknown[],
  statement: WatchedStatement,
): unknown {
  const at = args.length - 1;
  const last = args[at];
  if (at > 0 && typeof last === 'function') {
    args[at] = statement.wrap(last as QueryCallback);
    return query.apply(client, args);
  }
  const config = args[0] as QueryConfig;
  if (typeof config !== 'object' || typeof config.callback !== 'function') return query.apply(client, args);
  // The callback stands in the caller's object: it is exchanged for the length of the call only.
  const own = config.callback;
  config.callback = statement.wrap(own as QueryCallback);
  try {
    return query.apply(client, args);
  } finally {
    config.callback = own;
  }
}

/** The returned promise takes the place of pg's: an unhandled rejection stays exactly one. */
function settled(result: PromiseLike<unknown>, statement: WatchedStatement): PromiseLike<unknown> {
  return result.then(
    (value) => {
      statement.replied(undefined, value as QueryResult);
      return value;
    },
    (error: unknown) => {
      statement.replied(error);
      throw error;
    },
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null)?.then === 'function';
}
