import { mean } from './averages.ts';
import type { Capacity } from './capacity.ts';
import { demandOver, type QueueModel } from './queue-model.ts';
import type { Series } from './series.ts';

/** An instance this much above the mean is hotter by more than chance (with 3 standard errors of its count). */
const HOT_RATIO = 1.1;

/** The instance with the most demand per server, and whether it is hotter than chance explains (rule 5). */
export function hottestInstance(
  own: Series,
  capacity: Capacity,
  pre: readonly number[],
  requests: (w: number) => number,
): QueueModel['hottest'] {
  const { instances } = own.queue;
  if (own.queue.scope === 'shared' || instances.length < 2) return null;
  const shares = own.instances.map((lane, i) => {
    const demand = demandOver(lane, null, pre, requests);
    return {
      instance: instances[i],
      perServer: demand.demandNs / (capacity.byInstance[i] ?? 1),
      holds: pre.reduce((s, w) => s + lane.holds[w], 0),
    };
  });
  const average = mean(shares.map((s) => s.perServer));
  if (average <= 0) return null;
  const hot = shares.reduce((a, b) => (b.perServer > a.perServer ? b : a));
  const ratio = hot.perServer / average;
  const chance = 1 + 3 / Math.sqrt(Math.max(1, hot.holds));
  return { instance: hot.instance, ratio, alone: ratio > Math.max(HOT_RATIO, chance) };
}
