import type { QueueModel } from '../aggregate/queue-model.ts';
import type { Change } from './change.ts';
import type { Bound, LoopWait, NetworkQueue } from './service-network.ts';

/** A hold keeps at least this share of its own demand, however much of what it contains is made faster. */
const LEAST_DEMAND = 0.05;

/**
 * The network after a change of one queue. A capacity (of each process) scales R of its queue. A shorter hold, or fewer of them, also
 * shortens every hold that contains it and asks its servers for less. A faster loop also makes the slices shorter that
 * others wait for. A hold that got shorter because its steps got faster waits for the loop as often as before; one from
 * which steps were moved out waits less often: the low bound takes the one, the high bound the other.
 */
export function changeNetwork(
  network: readonly NetworkQueue[],
  changed: QueueModel,
  change: Change,
  bound: Bound = 'best',
): NetworkQueue[] {
  const target = network.find((queue) => queue.model === changed);
  if (!target) return [...network];
  if ('capacity' in change) {
    return network.map((queue) => (queue === target ? withServers(queue, change.capacity) : queue));
  }
  const factor = 'hold' in change ? change.hold : change.visits;
  const fewer = 'visits' in change;
  const index = changed.queue.index;
  return network.map((queue): NetworkQueue => {
    if (queue === target) {
      return {
        ...queue,
        demandNs: queue.demandNs * factor,
        alonePerSecond: over(queue.alonePerSecond, factor),
        insideNs: scaled(queue.insideNs, factor),
        loopWaits: waitsTimes(queue.loopWaits, fewer ? factor : WAITS_LEFT[bound](factor)),
      };
    }
    const savedNs = (1 - factor) * demandOfBoth(queue, target);
    const demandNs = Math.max(LEAST_DEMAND * queue.demandNs, queue.demandNs - savedNs);
    const loopWaits = new Map(queue.loopWaits);
    const waits = loopWaits.get(index);
    if (changed.kind === 'eventloop' && waits) loopWaits.set(index, waitTimes(waits, factor));
    return {
      ...queue,
      demandNs,
      alonePerSecond:
        queue.demandNs > 0 ? over(queue.alonePerSecond, demandNs / queue.demandNs) : queue.alonePerSecond,
      insideNs: insideAfter(queue, target, factor),
      loopWaits,
    };
  });
}

const WAITS_LEFT: Readonly<Record<Bound, (factor: number) => number>> = {
  low: () => 1,
  best: (factor) => (1 + factor) / 2,
  high: (factor) => factor,
};

function waitsTimes(waits: ReadonlyMap<number, LoopWait>, factor: number): ReadonlyMap<number, LoopWait> {
  return new Map([...waits].map(([loop, wait]) => [loop, waitTimes(wait, factor)]));
}

function waitTimes({ alwaysNs, atEvenOddsNs }: LoopWait, factor: number): LoopWait {
  return { alwaysNs: alwaysNs * factor, atEvenOddsNs: atEvenOddsNs * factor };
}

/** A pool or admission has its capacity in each process of the service; a shared queue has one. */
function withServers(queue: NetworkQueue, perProcess: number): NetworkQueue {
  const { servers: now, alonePerSecond } = queue;
  if (now === null) return { ...queue, alonePerSecond: null };
  const servers = perProcess * queue.model.processes;
  return { ...queue, servers, alonePerSecond: over(alonePerSecond, now / servers) };
}

/** Own demand of a queue that lies in the own time of the changed one's holds, or is its service to them. */
function demandOfBoth(queue: NetworkQueue, target: NetworkQueue): number {
  if (queue.model.kind === 'downstream') return target.insideNs.get(queue.model.queue.index) ?? 0;
  return Math.min(queue.demandNs, queue.insideNs.get(target.model.queue.index) ?? 0);
}

/** A hold that contains the changed one contains less of it, and less of what was inside it. */
function insideAfter(queue: NetworkQueue, target: NetworkQueue, factor: number): ReadonlyMap<number, number> {
  const index = target.model.queue.index;
  const own = queue.insideNs.get(index);
  if (own === undefined) return queue.insideNs;
  const inside = new Map(queue.insideNs);
  inside.set(index, own * factor);
  for (const [other, ns] of target.insideNs) {
    const before = inside.get(other);
    if (other === index || before === undefined) continue;
    inside.set(other, Math.max(0, before - (1 - factor) * Math.min(before, ns)));
  }
  return inside;
}

function over(rate: number | null, factor: number): number | null {
  return rate === null ? null : rate / factor;
}

function scaled(map: ReadonlyMap<number, number>, factor: number): ReadonlyMap<number, number> {
  return new Map([...map].map(([key, ns]) => [key, ns * factor]));
}
