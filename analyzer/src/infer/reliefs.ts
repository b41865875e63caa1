import type { NetworkQueue } from './service-network.ts';
import { type Limit, limitsOf } from './service-network.ts';

/** What making one queue stronger does to the rate the whole service sustains, by the network. */
export interface Relief {
  readonly queue: NetworkQueue;
  readonly factor: number;
  readonly perSecond: number;
  /** ln(rate after / before) / ln(factor): 1 = the service follows this queue alone, 0 = it does not care. */
  readonly elasticity: number;
}

const RELIEF = 1.5;
/** Queues that saturate alone only at this multiple of the lowest limit cannot matter, but for loops, which stretch holds. */
const HOPELESS = 3;

/** Tries each queue, the most effective first. */
export function reliefsOf(network: readonly NetworkQueue[], lowest: Limit): Relief[] {
  return network
    .flatMap((queue): Relief[] => {
      const { kind } = queue.model;
      const alone = queue.alonePerSecond;
      if (alone === null) return [];
      if (alone > (kind === 'eventloop' ? 2 : 1) * HOPELESS * lowest.perSecond) return [];
      const { network: relieved, factor } = relieve(network, queue);
      const perSecond = limitsOf(relieved)[0].perSecond;
      return [
        { queue, factor, perSecond, elasticity: Math.log(perSecond / lowest.perSecond) / Math.log(factor) },
      ];
    })
    .sort((a, b) => b.elasticity - a.elasticity);
}

/** A relief that helps less is the rounding of the network: several queues are full at once, and none of them alone matters. */
export const LEAST_ELASTICITY = 0.05;
/** Reliefs this near help alike; of them the queue with the lowest rate alone is named. */
const ALIKE = 0.04;

/** Limits this near the lowest are reached together with it. */
export const TOGETHER = 1.06;

/**
 * Of a network the queue whose relief raises its lowest limit most. Where none does, several are full at once: of those
 * the one that is full by itself, else the cause of that limit.
 */
export function limiterOf(
  network: readonly NetworkQueue[],
  lowest: Limit,
  reliefs: readonly Relief[] = reliefsOf(network, lowest),
): NetworkQueue {
  const most = reliefs[0]?.elasticity ?? 0;
  const alike = reliefs.filter(
    ({ elasticity }) => elasticity >= LEAST_ELASTICITY && elasticity >= most - ALIKE,
  );
  if (alike.length > 0) return lowestAlone(alike.map(({ queue }) => queue));
  const together = limitsOf(network).filter(({ perSecond }) => perSecond <= TOGETHER * lowest.perSecond);
  const full = reliefs
    .map(({ queue }) => queue)
    .filter(
      (queue) =>
        queue.alonePerSecond! <= TOGETHER * lowest.perSecond && together.some((one) => one.queue === queue),
    );
  return full.length > 0 ? lowestAlone(full) : lowest.cause;
}

function lowestAlone(queues: readonly NetworkQueue[]): NetworkQueue {
  return queues.reduce((a, b) => (b.alonePerSecond! < a.alonePerSecond! ? b : a));
}

/** Half as many servers again, at least one more; a loop half as fast again, which shortens what others wait for it. */
function relieve(
  network: readonly NetworkQueue[],
  target: NetworkQueue,
): { network: NetworkQueue[]; factor: number } {
  const { kind, queue } = target.model;
  const servers = target.servers;
  const whole = kind !== 'eventloop' && servers !== null;
  const factor = whole ? Math.max(servers + 1, Math.round(servers * RELIEF)) / servers : RELIEF;
  return {
    factor,
    network: network.map((one) => {
      if (one === target) {
        return {
          ...one,
          servers: whole ? servers * factor : servers,
          alonePerSecond: one.alonePerSecond! * factor,
          demandNs: whole ? one.demandNs : one.demandNs / factor,
        };
      }
      const waits = kind === 'eventloop' ? one.loopWaits.get(queue.index) : undefined;
      if (!waits) return one;
      const loopWaits = new Map(one.loopWaits);
      loopWaits.set(queue.index, {
        alwaysNs: waits.alwaysNs / factor,
        atEvenOddsNs: waits.atEvenOddsNs / factor,
      });
      return { ...one, loopWaits };
    }),
  };
}
