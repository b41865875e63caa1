import type { Context } from '@opentelemetry/api';
import { activeContext, runIn } from '../core/active-context.ts';
import { now } from '../core/clock.ts';
import { isSampled } from '../core/emit.ts';
import { loopClock } from '../core/loop-clock.ts';
import { emitLoopTail, hasLoopTail } from '../core/loop-wait.ts';
import { wrapMethod } from '../core/patch.ts';
import { type RootRecord, rootOf } from '../core/root.ts';
import { takeQuerySpan } from '../core/started-span.ts';
import { enterWork, leaveWork } from '../core/work.ts';
import { ConnectionLocks, type Running } from './locks/connection-locks.ts';
import { DatabaseRows } from './locks/rows.ts';
import { type ObservedStatement, observer, type StatementObserver } from './sampler/observer.ts';
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
      const statement = on.statements ? begin(this, args, on) : undefined;
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
  return patched;
}

/** A statement that is watched from its call to its reply. */
class WatchedStatement {
  readonly caller: Context;
  readonly #client: PgClient;
  readonly #connection: Connection | undefined;
  readonly #plan: CachedPlan;
  readonly #text: string | undefined;
  readonly #callMs = now();
  readonly #root: RootRecord | undefined;
  readonly #span: StatementSpan;
  readonly #running: Running | undefined;
  #isHandedOn = false;
  #isReplied = false;
  #seen: ObservedStatement | undefined;

  /** @param connection undefined for a statement that neither locks rows nor stands in a transaction. */
  constructor(
    client: PgClient,
    caller: Context,
    connection: Connection | undefined,
    plan: CachedPlan,
    text: string | undefined,
    values: readonly unknown[] | undefined,
  ) {
    this.caller = caller;
    this.#client = client;
    this.#connection = connection;
    this.#plan = plan;
    this.#text = text;
    this.#root = rootOf(caller);
    leaveWork(this.#root, caller, this.#callMs);
    this.#span = new StatementSpan(caller, this.#callMs);
    this.#running = connection?.locks.sent(plan, values, this.#span.parent);
    if (this.#running !== undefined) this.#running.hasStatementSpan = this.#span.isKnown;
  }

  /** The client has taken the statement. */
  handedOn(): void {
    this.#isHandedOn = true;
    this.#span.handedOn();
    const running = this.#running;
    if (running !== undefined) {
      running.parent = this.#span.parent;
      running.hasStatementSpan = this.#span.isKnown;
    }
    if (observer !== undefined && !this.#isReplied) this.#observe(observer);
  }

  #observe(by: StatementObserver): void {
    try {
      this.#seen = by.sent({
        client: this.#client,
        callMs: this.#callMs,
        plan: this.#plan,
        parent: this.#span.parent,
        isSampled: isSampled(this.caller),
      });
      if (this.#running !== undefined) this.#running.seen = this.#seen;
    } catch {
      // Ours must never reach the service.
    }
  }

  /** Its reply is here, or an error; the service has not seen it yet. */
  replied(error: unknown, result?: QueryResult): void {
    try {
      const atMs = now();
      const loopWait = loopClock.waitAt(atMs);
      enterWork(this.#root, atMs);
      this.#isReplied = true;
      this.#seen?.replied(Math.max(this.#callMs, atMs - loopWait.maxMs), error);
      if (this.#running !== undefined)
        this.#connection?.locks.replied(this.#running, this.#client, error, result?.rowCount, loopWait.maxMs);
      // Before it was handed on, the reply is an error of the call itself.
      if (this.#isHandedOn && hasLoopTail(loopWait, this.#callMs, atMs))
        emitLoopTail(this.#span.parent, loopWait, this.#callMs, atMs);
      this.#seen?.finish();
      this.#span.end(this.#client, this.#plan, this.#text, error, atMs, this.#seen?.waitEvents);
    } catch {
      // Ours must never reach the service.
    }
  }

  /** @returns the service's callback, after ours, in the context of its call. */
  wrap(callback: Callback): Callback {
    const statement = this;
    return function (this: unknown, ...all: Parameters<Callback>) {
      statement.replied(all[0], all[1]);
      const { caller } = statement;
      return activeContext() === caller ? callback.apply(this, all) : runIn(caller, callback, this, all);
    };
  }
}

/** @returns what to watch, or undefined for what goes through as it is. */
function begin(client: PgClient, args: unknown[], on: ClientSwitch): WatchedStatement | undefined {
  try {
    const [first, second] = args;
    const caller = activeContext();
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
    const locks =
      plan.locks.length > 0 || plan.transaction !== null || plan.statements > 1 || plan.unlocks.length > 0;
    if (!on.rowLocks || !(locks || connection?.locks.isInvolved)) {
      return isSampled(caller)
        ? new WatchedStatement(client, caller, undefined, plan, text, values)
        : undefined;
    }
    if (connection === undefined) {
      connection = { locks: new ConnectionLocks(rowsOf(client, on)), named: new Map() };
      connections.set(client, connection);
    }
    if (typeof first === 'object') rememberName(first as QueryConfig, plan, connection);
    return new WatchedStatement(client, caller, connection, plan, text, values);
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
    args[at] = statement.wrap(last as Callback);
    return query.apply(client, args);
  }
  const config = args[0] as QueryConfig;
  if (typeof config !== 'object' || typeof config.callback !== 'function') return query.apply(client, args);
  // The callback stands in the caller's object: it is exchanged for the length of the call only.
  const own = config.callback;
  config.callback = statement.wrap(own as Callback);
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
