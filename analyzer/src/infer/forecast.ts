import type { Frame, QueueModel } from '../aggregate/queue-model.ts';
import { limiterOf } from './reliefs.ts';
import { limitsOf, networkOf } from './service-network.ts';

/** The queue that will saturate next, and the rate at which the service will stop keeping up. */
export interface Forecast {
  readonly model: QueueModel;
  readonly perSecond: number;
}

/** Forecast from windows below the knee: the lowest limit of the network of queues, and what limits it. */
export function forecast(models: readonly QueueModel[], frame: Frame): Forecast | null {
  const network = networkOf(models, frame);
  const [lowest] = limitsOf(network);
  return lowest ? { model: limiterOf(network, lowest).model, perSecond: lowest.perSecond } : null;
}
