import { type Context, context } from '@opentelemetry/api';
import { now } from '../core/clock.ts';
import { isSampled } from '../core/emit.ts';
import { loopClock } from '../core/loop-clock.ts';
import { emitLoopTail } from '../core/loop-wait.ts';
import { wrapMethod } from '../core/patch.ts';
import { rootOf } from '../core/root.ts';
import { enterWork, leaveWork } from '../core/work.ts';
import { ConnectionLocks } from './locks/connection-locks.ts';
import { DatabaseRows } from './locks/rows.ts';
import { type CachedPlan, PlanCache } from './sql/plan-cache.ts';
import { StatementSpan } from './statement-span.ts';
import type { PgClient } from './types.ts';

/** Longest list of named statements remembered per connection. */
const MAX_NAMED = 1_000;

/** What is recorded of statements; wrappers stay in place when it is switched off and only pass on. */
export interface ClientSwitch {
  statements: boolean;
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

interface QueryResult {
  rowCount?: number | null;
}

type Callback = (error: unknown, result?: QueryResult) => unknown;

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
      const watch = on.statements ? begin(this, args, on) : undefined;
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
  /** Undefined for a statement that neither locks rows nor stands in a transaction. */
  readonly connection: Connection | undefined;
  readonly plan: CachedPlan;
  readonly text: string | undefined;
  readonly values: readonly unknown[] | undefined;
  readonly caller: Context;
}

/** @returns what to watch, or undefined for what goes through as it is. */
function begin(client: PgClient, args: unknown[], on: ClientSwitch): Watch | undefined {
  try {
    const [first, second] = args;
    const caller = context.active();
    let connection = connections.get(client);
    let plan: CachedPlan | undefined;
    let text: string | undefined;
    let values = Array.isArray(second) ? second : undefined;
    if (typeof first === 'string') {
      text = first;
      plan = plans.get(first);
    } else if (typeof first === 'object' && first !== null) {
      const config = first as QueryConfig;
      // A cursor, a stream, COPY: it drives the protocol itself.
      if (typeof config.submit === 'function') return undefined;
      if (typeof config.text === 'string') text = config.text;
      plan = planOf(config, connection);
      values ??= Array.isArray(config.values) ? config.values : undefined;
    }
    if (plan === undefined) return undefined;
    const locks = plan.locks.length > 0 || plan.transaction !== null || plan.statements > 1;
    if (!on.rowLocks || !(locks || connection?.locks.isInvolved)) {
      return isSampled(caller) ? { connection: undefined, plan, text, values, caller } : undefined;
    }
    if (connection === undefined) {
      connection = { locks: new ConnectionLocks(rowsOf(client, on)), named: new Map() };
      connections.set(client, connection);
    }
    if (typeof first === 'object') rememberName(first as QueryConfig, plan, connection);
    return { connection, plan, text, values, caller };
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
  { connection, plan, text, values, caller }: Watch,
): unknown {
  const callMs = now();
  const root = rootOf(caller);
  leaveWork(root, caller, callMs);
  const span = new StatementSpan(caller, callMs);
  const running = connection?.locks.sent(plan, values, span.parent);
  if (running !== undefined) running.hasStatementSpan = span.isKnown;
  let handedOn = false;
  const replied = (error: unknown, result?: QueryResult) => {
    try {
      const atMs = now();
      const loopWait = loopClock.waitAt(atMs);
      enterWork(root, atMs);
      if (running !== undefined)
        connection?.locks.replied(running, client, error, result?.rowCount, loopWait.maxMs);
      // Before it was handed on, the reply is an error of the call itself.
      if (handedOn) emitLoopTail(span.parent, loopWait, callMs, atMs);
      span.end(client, plan, text, error, atMs);
    } catch {
      // Ours must never reach the service.
    }
  };
  const wrap = (callback: Callback): Callback =>
    function (this: unknown, ...all: Parameters<Callback>) {
      replied(all[0], all[1]);
      if (context.active() === caller) return callback.apply(this, all);
      return context.with(caller, callback, this, ...all);
    };
  try {
    const result = callInStyle(client, query, args, wrap);
    return isThenable(result) ? settled(result, replied) : result;
  } catch (error) {
    replied(error);
    throw error;
  } finally {
    handedOn = true;
    span.handedOn();
    if (running !== undefined) {
      running.parent = span.parent;
      running.hasStatementSpan = span.isKnown;
    }
  }
}

function callInStyle(
  client: PgClient,
  query: (...args: unknown[]) => unknown,
  args: unknown[],
  wrap: (callback: Callback) => Callback,
): unknown {
  const last = args.at(-1);
  if (args.length > 1 && typeof last === 'function') {
    return query.call(client, ...args.slice(0, -1), wrap(last as Callback));
  }
  const config = args[0] as QueryConfig;
  if (typeof config !== 'object' || typeof config.callback !== 'function') return query.apply(client, args);
  // The callback stands in the caller's object: it is exchanged for the length of the call only.
  const own = config.callback;
  config.callback = wrap(own as Callback);
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
      replied(undefined, value as QueryResult);
      return value;
    },
    (error: unknown) => {
      replied(error);
      throw error;
    },
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null)?.then === 'function';
}
