import type { Frame, QueueModel } from '../aggregate/queue-model.ts';
import { limitsOf, networkOf } from './service-network.ts';

/** The queue that will saturate next, and the rate at which the service will stop keeping up. */
export interface Forecast {
  readonly model: QueueModel;
  readonly perSecond: number;
}

/** Forecast from windows below the knee: the lowest limit of the network of queues, and its cause. */
export function forecast(models: readonly QueueModel[], frame: Frame): Forecast | null {
  const lowest = limitsOf(networkOf(models, frame))[0];
  return lowest ? { model: lowest.cause.model, perSecond: lowest.perSecond } : null;
}
