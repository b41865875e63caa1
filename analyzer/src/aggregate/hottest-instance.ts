import type { Capacity } from './capacity.ts';
import type { QueueModel } from './queue-model.ts';
import type { Lane, Series } from './series.ts';

/** An instance this much above the mean is hotter by more than chance (with 3 standard errors of its count). */
const HOT_RATIO = 1.1;

/**
 * The instance with the most demand per server, and whether it is hotter than chance explains (rule 5). Its ratio is its
 * own demand / what its servers had to take if all servers that were there had shared the demand evenly.
 */
export function hottestInstance(
  own: Series,
  capacity: Capacity,
  pre: readonly number[],
): QueueModel['hottest'] {
  const { instances } = own.queue;
  if (own.queue.scope === 'shared' || instances.length < 2) return null;
  const servers = (i: number, w: number) => (capacity.byInstance[i] ?? 1) * (own.presence?.[i][w] ?? 1);
  const demands = pre.map((w) => ({
    w,
    ns: own.instances.reduce((sum, lane) => sum + ownNs(lane, w), 0),
    servers: instances.reduce((sum, _, i) => sum + servers(i, w), 0),
  }));
  const shares = own.instances.flatMap((lane, i) => {
    let takenNs = 0;
    let evenNs = 0;
    let holds = 0;
    for (const { w, ns, servers: all } of demands) {
      takenNs += ownNs(lane, w);
      evenNs += (ns * servers(i, w)) / all;
      holds += lane.holds[w];
    }
    return evenNs > 0 ? [{ instance: instances[i], ratio: takenNs / evenNs, holds }] : [];
  });
  if (shares.length < 2) return null;
  const { instance, ratio, holds } = shares.reduce((a, b) => (b.ratio > a.ratio ? b : a));
  const chance = 1 + 3 / Math.sqrt(Math.max(1, holds));
  return { instance, ratio, alone: ratio > Math.max(HOT_RATIO, chance) };
}

/** Holds without the waits nested in them. */
function ownNs(lane: Lane, w: number): number {
  let ns = lane.holdNs[w];
  for (const sums of lane.nestedNs.values()) ns -= sums[w];
  return ns;
}
