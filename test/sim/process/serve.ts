import { ADMISSION } from '../scenario.ts';
import type { SimSpan } from '../spans.ts';
import { type Context, Failure, type Program, TAIL_MARGIN_NS } from './context.ts';
import { runSteps } from './steps.ts';
import { loopTurn, openSpan, openWait, waitForSlot } from './waits.ts';

/** A request from its arrival at the process to its last byte. */
export function* serve(context: Context): Program {
  const { world, request, replica } = context;
  const { cpu, routes } = world.scenario;
  yield* loopTurn(context, cpu.receive);
  let admitted: { grantedNs: number; wait: SimSpan | null } | null = null;
  try {
    admitted = yield* admit(context);
    const handler = openSpan(context, 'handler', {
      name: routes[request.route].name,
    });
    const inner: Context = handler ? { ...context, parent: handler } : context;
    try {
      yield* runSteps(inner, routes[request.route].steps);
      yield* loopTurn(inner, cpu.respond);
    } finally {
      if (handler) handler.endNs = world.events.now;
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    request.outcome = error.outcome;
  }
  const now = world.events.now;
  request.endNs = now;
  if (request.root) {
    request.root.endNs = now;
    request.root.failed = request.outcome !== 'success';
  }
  if (admitted && replica.admission) {
    world.stats.addHold(world.queues.admission, request.step, now - admitted.grantedNs);
    if (admitted.wait) admitted.wait.holdNs = now - admitted.wait.endNs;
    replica.admission.release();
  }
  for (const tail of context.atEnd) world.events.at(now + TAIL_MARGIN_NS, tail);
}

/** Takes an admission slot, null where the service has none. */
function* admit(context: Context): Program<{ grantedNs: number; wait: SimSpan | null } | null> {
  const { world } = context;
  const { admission } = world.scenario;
  const slots = context.replica.admission;
  if (!admission || !slots) return null;
  const queue = world.queues.admission;
  const now = world.events.now;
  const span = openWait(context, 'admission', ADMISSION, slots);
  if (slots.tryTake()) {
    world.stats.addWait(queue, context.request.step, 0);
    return { grantedNs: now, wait: span };
  }
  if (admission.queue !== null && slots.waiting >= admission.queue) {
    world.stats.addLoss(queue, context.request.step);
    if (span) span.outcome = 'rejected';
    throw new Failure('rejected');
  }
  yield* waitForSlot(context, slots, admission.timeoutNs, queue, span, 'admission_wait');
  const grantedNs = world.events.now;
  yield* loopTurn(context, world.scenario.cpu.resume);
  return { grantedNs, wait: span };
}
