import type { Call } from '../scenario.ts';
import { type Context, Failure, type Program } from './context.ts';
import { replyOf } from './servers.ts';
import { runTransaction } from './transaction.ts';
import { loopTurn, openSpan } from './waits.ts';

/** A remote call, through a socket of its agent where it has one. */
export function* runCall(context: Context, step: Call): Program {
  if (step.agent === undefined) return yield* attempts(context, step);
  const { agent, ...call } = step;
  yield* runTransaction(context, { do: 'transaction', pool: agent, body: [call] });
}

function* attempts(context: Context, step: Call): Program {
  for (let left = step.retries ?? 0; ; left--) {
    if (yield* attempt(context, step)) return;
    if (left === 0) throw new Failure('error');
  }
}

/** @returns whether the call succeeded. */
function* attempt(context: Context, step: Call): Program<boolean> {
  const { world } = context;
  const now = world.events.now;
  const { server, operation } = step;
  const giveUp = now + (step.timeoutNs ?? Number.POSITIVE_INFINITY);
  const reply = replyOf(context, server, step.cost, giveUp);
  const end = Math.min(reply.end, giveUp);
  const failed = reply.end > giveUp || (step.failures !== undefined && context.random.chance(step.failures));
  const details = { resource: world.names.server[server], name: operation, place: server };
  const span = openSpan(context, 'call', details);
  if (span) {
    span.failed = failed;
    span.servedFromNs = reply.start;
    span.servedToNs = reply.end;
  }
  world.events.at(end, context.task);
  yield;
  context.ledger?.add('downstream', end - now);
  const start = yield* loopTurn(context, world.scenario.cpu.callback, span);
  if (span) span.endNs = start;
  return !failed;
}
