import { mean } from './averages.ts';
import type { Capacity } from './capacity.ts';
import { type Demand, type Frame, hasItsServers, type QueueModel } from './queue-model.ts';
import type { Lane } from './series.ts';

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

/** Windows have edges: a queue may complete a little more in one than it can for long. */
const SERVED_MARGIN = 0.97;

/**
 * What a queue served it can serve: a lower rate says that its cost (rebuilt holds have waits in them) or its servers
 * (counted, not stated) are wrong. Mean of the two windows in which it completed most.
 */
export function atLeastServed(
  rate: Rate,
  lane: Lane,
  { visits }: Demand,
  { rising, timeline }: Frame,
  hottest: QueueModel['hottest'],
  capacity: Pick<Capacity, 'servers' | 'byWindow'>,
): Rate {
  if (rate.saturatesAt === null || visits <= 0 || rising.length < 2 || hottest?.alone) return rate;
  const most = rising
    .filter((w) => hasItsServers(capacity, w))
    .map((w) => lane.completions[w] / timeline.windows[w].seconds / visits)
    .sort((a, b) => b - a)
    .slice(0, 2);
  const served = SERVED_MARGIN * mean(most);
  return served > rate.saturatesAt ? { saturatesAt: served, how: 'what it served' } : rate;
}
