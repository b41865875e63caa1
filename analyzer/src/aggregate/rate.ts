import type { Capacity } from './capacity.ts';
import type { Demand, QueueModel } from './queue-model.ts';

/** Rate at which a queue saturates alone, and how it was found, for people. */
export interface Rate {
  readonly saturatesAt: number | null;
  readonly how: string;
}

export const UNKNOWN_RATE: Rate = { saturatesAt: null, how: '' };

/** R = capacity / D; of the hottest instance where that one is hotter than chance explains. */
export function ownRate(demand: Demand, capacity: Capacity, hottest: QueueModel['hottest']): Rate {
  if (capacity.servers === null || demand.demandNs <= 0) return UNKNOWN_RATE;
  const even = capacity.servers / (demand.demandNs / 1e9);
  if (hottest?.alone) {
    return { saturatesAt: even / hottest.ratio, how: `capacity / own demand of ${hottest.instance}` };
  }
  return { saturatesAt: even, how: 'capacity / own demand' };
}
