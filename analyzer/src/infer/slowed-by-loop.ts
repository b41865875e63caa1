import type { Frame, QueueModel } from '../aggregate/queue-model.ts';
import { UNKNOWN_RATE } from '../aggregate/rate.ts';
import { DEEP, PLATEAU_HOW } from '../aggregate/server-rate.ts';
import { queueing } from './saturation.ts';

/** A loop that never sleeps, but for the edges of a window. */
const LOOP_FULL = 0.97;

/**
 * The rate of some servers is known only from completions that stay while calls become slower. Behind a full event loop
 * both are so of every server, for its replies wait for the loop as well: such a rate says nothing of the server.
 *
 * @param models ascending by rate.
 * @returns them with the rates of such servers unknown, and these last.
 */
export function withoutRatesOfTheLoop(models: readonly QueueModel[], frame: Frame): QueueModel[] {
  const slowed = models.filter((model) => isSlowedByLoop(model, models, frame));
  const others = models.filter((model) => !slowed.includes(model));
  return [...others, ...slowed.map((model) => ({ ...model, ...UNKNOWN_RATE }))];
}

/** @returns whether a loop of the server's callers was full in all windows in which calls were slow. */
function isSlowedByLoop(server: QueueModel, models: readonly QueueModel[], frame: Frame): boolean {
  if (server.kind !== 'downstream' || server.how !== PLATEAU_HOW) return false;
  const slow = frame.rising.filter((w) => server.meanWaitNs[w] > DEEP * (server.series.baseNs ?? 0));
  return models.some(
    (loop) =>
      loop.kind === 'eventloop' &&
      loop.queue.service === server.queue.service &&
      loop.saturatesAt !== null &&
      loop.saturatesAt < frame.topRate &&
      queueing(loop, frame) &&
      slow.every((w) => (loop.utilization[w] ?? 0) >= LOOP_FULL),
  );
}
