import { type Context, context, trace } from '@opentelemetry/api';
import { wrapMethod } from '../core/patch.ts';
import { forgetLastStarted, lastStartedOf } from '../core/span-processor.ts';
import { ConnectionLocks, type Running } from './locks/connection-locks.ts';
import { DatabaseRows } from './locks/rows.ts';
import { type CachedPlan, PlanCache } from './sql/plan-cache.ts';
import type { PgClient } from './types.ts';

const OFFICIAL_SCOPE = '@opentelemetry/instrumentation-pg';
/** Longest list of named statements remembered per connection. */
const MAX_NAMED = 1_000;

/** Whether row locks are recorded; wrappers stay in place when it is switched off and only pass on. */
export interface ClientSwitch {
  rowLocks: boolean;
  lockSalt: string | undefined;
}

interface QueryConfig {
  text?: unknown;
  name?: unknown;
  values?: unknown;
  callback?: unknown;
  submit?: unknown;
}

type Callback = (error: unknown, result?: { rowCount?: number | null }) => unknown;

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
      const watch = on.rowLocks ? begin(this, args, on) : undefined;
      return watch === undefined ? inner().apply(this, args) : watched(this, inner(), args, watch);
    };
  });
  wrapMethod(Client.prototype, 'end', (inner) => {
    return function end(this: PgClient, ...args: unknown[]) {
      connections.get(this)?.locks.disconnected();
      return inner().apply(this, args);
    };
  });
  return patched;
}

/** A statement that is watched from its call to its reply. */
interface Watch {
  readonly connection: Connection;
  readonly plan: CachedPlan;
  readonly values: readonly unknown[] | undefined;
  readonly caller: Context;
}

/** @returns what to watch, or undefined for a statement that neither locks nor stands in a transaction. */
function begin(client: PgClient, args: unknown[], on: ClientSwitch): Watch | undefined {
  try {
    const [first, second] = args;
    let connection = connections.get(client);
    let plan: CachedPlan | undefined;
    let values = Array.isArray(second) ? second : undefined;
    if (typeof first === 'string') plan = plans.get(first);
    else if (typeof first === 'object' && first !== null) {
      const config = first as QueryConfig;
      // A cursor, a stream, COPY: it drives the protocol itself and goes through as it is.
      if (typeof config.submit === 'function') return undefined;
      plan = planOf(config, connection);
      values ??= Array.isArray(config.values) ? config.values : undefined;
    }
    if (plan === undefined) return undefined;
    const matters = plan.locks.length > 0 || plan.transaction !== null || plan.statements > 1;
    if (!matters && !connection?.locks.isInvolved) return undefined;
    if (connection === undefined) {
      connection = { locks: new ConnectionLocks(rowsOf(client, on)), named: new Map() };
      connections.set(client, connection);
    }
    if (typeof first === 'object') rememberName(first as QueryConfig, plan, connection);
    return { connection, plan, values, caller: context.active() };
  } catch {
    return undefined;
  }
}

function planOf(config: QueryConfig, connection: Connection | undefined): CachedPlan | undefined {
  if (typeof config.text === 'string') return plans.get(config.text);
  // A prepared statement may be run again by its name alone.
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

/** Hands the statement on in the style it was called, and takes note of its reply before the caller does. */
function watched(
  client: PgClient,
  query: (...args: unknown[]) => unknown,
  args: unknown[],
  { connection, plan, values, caller }: Watch,
): unknown {
  const { locks } = connection;
  // An official wrapper around ours has started its span just now; one inside ours will do so below.
  const outside = lastStartedOf(OFFICIAL_SCOPE, 'pg.query');
  forgetLastStarted();
  const running = locks.sent(plan, values, outside === undefined ? caller : trace.setSpan(caller, outside));
  running.hasStatementSpan = outside !== undefined;
  const replied = (error: unknown, result?: { rowCount?: number | null }) => {
    try {
      locks.replied(running, client, error, result?.rowCount);
    } catch {
      // Ours must never reach the service.
    }
  };
  const wrap = (callback: Callback): Callback =>
    function (this: unknown, ...all: Parameters<Callback>) {
      replied(all[0], all[1]);
      return context.with(caller, callback, this, ...all);
    };
  const config = args[0] as QueryConfig;
  const last = args.at(-1);
  try {
    if (args.length > 1 && typeof last === 'function') {
      const withCallback = args.slice(0, -1);
      withCallback.push(wrap(last as Callback));
      return query.apply(client, withCallback);
    }
    if (typeof config === 'object' && typeof config.callback === 'function') {
      return queryWithOwnCallback(client, query, args, config, wrap(config.callback as Callback));
    }
    const result = query.apply(client, args);
    return isThenable(result) ? settled(result, replied) : result;
  } catch (error) {
    replied(error);
    throw error;
  } finally {
    useStatementSpan(running, caller);
  }
}

/** The callback stands in the caller's object: it is exchanged for the length of the call only. */
function queryWithOwnCallback(
  client: PgClient,
  query: (...args: unknown[]) => unknown,
  args: unknown[],
  config: QueryConfig,
  callback: Callback,
): unknown {
  const own = config.callback;
  config.callback = callback;
  try {
    return query.apply(client, args);
  } finally {
    config.callback = own;
  }
}

/** The returned promise takes the place of pg's: an unhandled rejection stays exactly one. */
function settled(result: PromiseLike<unknown>, replied: Callback): PromiseLike<unknown> {
  return result.then(
    (value) => {
      replied(undefined, value as { rowCount?: number | null });
      return value;
    },
    (error: unknown) => {
      replied(error);
      throw error;
    },
  );
}

function useStatementSpan(running: Running, caller: Context): void {
  const inside = lastStartedOf(OFFICIAL_SCOPE, 'pg.query');
  if (inside === undefined) return;
  running.parent = trace.setSpan(caller, inside);
  running.hasStatementSpan = true;
  forgetLastStarted();
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null)?.then === 'function';
}
