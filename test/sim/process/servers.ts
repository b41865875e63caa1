import { type Duration, draw } from '../random.ts';
import type { Context, Program } from './context.ts';

/** Queue and service at a remote server, up to its reply. */
export function* serveStatement(context: Context, server: number, cost: Duration): Program {
  const { world } = context;
  const now = world.events.now;
  const { end } = replyOf(context, server, cost, Number.POSITIVE_INFINITY);
  world.events.at(end, context.task);
  yield;
  context.ledger?.add('downstream', end - now);
}

/** @returns when the server starts and when it has answered a call that arrives now. */
export function replyOf(
  context: Context,
  server: number,
  cost: Duration,
  giveUpNs: number,
): { start: number; end: number } {
  const { world } = context;
  const now = world.events.now;
  const { slowdownPerCall } = world.scenario.servers[server];
  const busy = slowdownPerCall > 0 ? world.servers[server].busy(now) : 0;
  const ns = Math.round(costOf(context, cost) * (1 + slowdownPerCall * busy));
  const start = world.servers[server].enter(now, ns);
  const queue = world.queues.server[server];
  world.stats.addWait(queue, context.request.step, Math.min(start, giveUpNs) - now);
  world.stats.addHold(queue, context.request.step, ns);
  return { start, end: start + ns };
}

/** A draw of a service time, with the drift of the run applied. */
export function costOf(context: Context, cost: Duration): number {
  const { world } = context;
  const { driftOverRun } = world.scenario;
  const ns = draw(context.random, cost);
  if (driftOverRun === 0) return ns;
  return Math.round(ns * (1 + driftOverRun * Math.min(1, world.events.now / world.endNs)));
}
