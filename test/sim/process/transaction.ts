import type { Statement, Transaction } from '../scenario.ts';
import type { SimSpan } from '../spans.ts';
import type { Context, Program } from './context.ts';
import { costOf, serveStatement } from './servers.ts';
import { runSteps } from './steps.ts';
import { loopTurn, openSpan, openWait, waitForSlot } from './waits.ts';
import type { World } from './world.ts';

/** Takes a slot of a pool, a connection where it is a database's, and gives both back after the body. */
export function* runTransaction(context: Context, step: Transaction): Program {
  const { world } = context;
  const { pools, cpu } = world.scenario;
  const pool = pools[step.pool];
  const { slots, idle } = context.replica.pools[step.pool];
  const queue = world.queues.pool[step.pool];
  const resource = world.names.pool[step.pool];
  const acquire = openSpan(context, 'acquire', { resource, place: step.pool });
  const wait = openWait(context, 'pool', resource, slots, acquire);
  const waiting: Context = acquire ? { ...context, parent: acquire } : context;
  let immediate = slots.tryTake();
  try {
    if (immediate) world.stats.addWait(queue, context.request.step, 0);
    else yield* waitForSlot(waiting, slots, pool.acquireTimeoutNs, queue, wait, 'pool_wait');
  } catch (error) {
    if (acquire) {
      acquire.endNs = world.events.now;
      acquire.failed = true;
    }
    throw error;
  }
  const grantedNs = world.events.now;
  const holding: Context = pool.kind === 'pg' ? { ...context, pool: step.pool, held: [] } : context;
  try {
    if (pool.kind === 'pg' && !takeIdle(world, idle, pool.idleTimeoutNs)) {
      yield* connect(waiting, step.pool);
      immediate = false;
    }
    if (!immediate) {
      const start = yield* loopTurn(context, cpu.resume, acquire);
      if (acquire) acquire.endNs = start;
    }
    yield* runSteps(holding, step.body);
  } finally {
    if (pool.kind === 'pg') releaseLocks(holding);
    const now = world.events.now;
    world.stats.addHold(queue, context.request.step, now - grantedNs);
    if (wait) wait.holdNs = now - grantedNs;
    if (pool.kind === 'pg' && !context.random.chance(pool.churn)) idle.push(now);
    slots.release();
  }
}

/** @returns whether an idle connection was there; the one used last is taken, those idle for too long are closed. */
function takeIdle(world: World, idle: number[], timeoutNs: number | null): boolean {
  if (timeoutNs !== null) {
    let expired = 0;
    while (expired < idle.length && world.events.now - idle[expired] > timeoutNs) expired++;
    if (expired > 0) idle.splice(0, expired);
  }
  return idle.pop() !== undefined;
}

/** Establishes a connection, the slot being held already. */
function* connect(context: Context, poolIndex: number): Program {
  const { world } = context;
  const pool = world.scenario.pools[poolIndex];
  const connections = context.replica.pools[poolIndex];
  const queue = world.queues.connect[poolIndex];
  const now = world.events.now;
  const ns = costOf(context, pool.handshake);
  const start = connections.gate.enter(now, ns);
  const end = start + ns;
  world.stats.addWait(queue, context.request.step, start - now);
  world.stats.addHold(queue, context.request.step, ns);
  const resource = world.names.connect[poolIndex];
  const span = openSpan(context, 'connect', { resource, place: poolIndex });
  if (span) {
    span.endNs = end;
    span.capacity = pool.handshakesStated ? pool.handshakes : null;
    span.inUse = Math.min(connections.handshaking, pool.handshakes);
    span.queueDepth = Math.max(0, connections.handshaking - pool.handshakes);
  }
  connections.handshaking++;
  world.events.at(end, context.task);
  yield;
  connections.handshaking--;
  context.ledger?.add('connection_wait', end - now);
}

/** One statement on the connection held; the callback that takes its reply is part of its span up to its start. */
export function* runStatement(context: Context, step: Statement): Program {
  const { world } = context;
  const { server } = world.scenario.pools[context.pool];
  const resource = world.names.server[server];
  const details = { resource, name: step.verb, table: step.table, place: server };
  const span = openSpan(context, 'statement', details);
  if (step.lock !== undefined) yield* takeLock(context, step.lock, span);
  yield* serveStatement(context, server, step.cost);
  if (step.verb === 'COMMIT') releaseLocks(context);
  const start = yield* loopTurn(context, world.scenario.cpu.callback, span);
  if (span) span.endNs = start;
}

/** Locks the request's row; the server does this before it runs the statement. */
function* takeLock(context: Context, lock: number, statement: SimSpan | null): Program {
  const { world } = context;
  const key = context.keys[lock];
  const row = world.row(lock, key);
  const queue = world.queues.lock[lock];
  const since = world.events.now;
  const wait = openWait(context, 'lock', world.names.lock[lock], row.slots, statement);
  if (wait) {
    wait.key = `${world.scenario.locks[lock].relation}:${key}`;
    if (row.holders.size > 0) wait.blockedBy = [...row.holders];
  }
  if (row.slots.tryTake()) world.stats.addWait(queue, context.request.step, 0);
  else {
    row.slots.join(context.task, null);
    yield;
    context.ledger?.add('lock_wait', world.events.now - since);
    world.stats.addWait(queue, context.request.step, world.events.now - since);
    if (wait) wait.endNs = world.events.now;
  }
  if (statement) row.holders.add(statement);
  context.held.push({ row, queue, grantedNs: world.events.now, wait, statement });
}

function releaseLocks(context: Context): void {
  const { world } = context;
  for (const { row, queue, grantedNs, wait, statement } of context.held.splice(0)) {
    const ns = world.events.now - grantedNs;
    world.stats.addHold(queue, context.request.step, ns);
    if (wait) wait.holdNs = ns;
    if (statement) row.holders.delete(statement);
    row.slots.release();
  }
}
