import type { Segment } from '@waitfall/instrumentation/conventions';
import { type Duration, draw } from '../random.ts';
import { EVENT_LOOP } from '../scenario.ts';
import type { SimSpan, SpanDetails, SpanRole } from '../spans.ts';
import type { Slots, Waiter } from '../stations.ts';
import { type Context, Failure, type Program } from './context.ts';

/** @returns a span that starts now, null where the run does not record. */
export function openSpan(
  context: Context,
  role: SpanRole,
  details: SpanDetails,
  parent: SimSpan | null = context.parent,
): SimSpan | null {
  const { world, request, replica } = context;
  return world.log?.open(parent, request.id, role, replica.index, world.events.now, details) ?? null;
}

/** @returns the span of a wait for slots, with what the queue looks like to the one who comes. */
export function openWait(
  context: Context,
  role: 'admission' | 'pool' | 'lock',
  resource: string,
  slots: Slots,
  parent: SimSpan | null = context.parent,
): SimSpan | null {
  const span = openSpan(context, role, { resource }, parent);
  if (!span) return null;
  span.capacity = slots.capacity;
  span.inUse = slots.inUse;
  span.queueDepth = slots.waiting;
  return span;
}

/** Waits in a queue of slots; a timeout is a failure of the request, after the callback that reports it. */
export function* waitForSlot(
  context: Context,
  slots: Slots,
  timeoutNs: number | null,
  queue: number,
  span: SimSpan | null,
  segment: Segment,
): Program {
  const { world } = context;
  const since = world.events.now;
  const waiter: Waiter = slots.join(context.task, timeoutNs);
  yield;
  const now = world.events.now;
  if (span) span.endNs = now;
  context.ledger?.add(segment, now - since);
  if (waiter.state === 'timeout') {
    world.stats.addLoss(queue, context.request.step);
    if (span) span.outcome = 'timeout';
    yield* loopTurn(context, world.scenario.cpu.resume);
    throw new Failure('timeout');
  }
  world.stats.addWait(queue, context.request.step, now - since);
}

/**
 * One turn of the event loop: waits until the loop gets to this callback, then runs it. Where the scenario gives it
 * no CPU at all there is no turn. @returns its start.
 */
export function* loopTurn(
  context: Context,
  cost: Duration,
  waitParent: SimSpan | null = context.parent,
): Program<number> {
  const { world, request, replica } = context;
  const now = world.events.now;
  if (cost.meanNs === 0) return now;
  const ns = draw(context.random, cost);
  const start = replica.loop.enter(now, ns);
  const end = start + ns;
  world.stats.addWait(world.queues.loop, request.step, start - now);
  world.stats.addHold(world.queues.loop, request.step, ns);
  if (start > now) {
    const wait = openSpan(context, 'loop', { resource: EVENT_LOOP }, waitParent);
    if (wait) {
      wait.capacity = 1;
      wait.endNs = start;
    }
    context.ledger?.add('eventloop_wait', start - now);
  }
  if (world.log) {
    const slice = { resource: EVENT_LOOP };
    world.log.open(context.parent, request.id, 'work', replica.index, start, slice).endNs = end;
    context.ledger?.add('work', ns);
  }
  if (end > now) {
    world.events.at(end, context.task);
    yield;
  }
  return start;
}
