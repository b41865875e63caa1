import type { Frame, QueueModel } from '../aggregate/queue-model.ts';

export interface Knee {
  readonly perSecond: number;
  readonly how: string;
}

/** Rule 8 thresholds. */
const FULL = 0.95;
const OVERLOADED = 0.95;
const SAMPLED_FACTOR = 0.96;
/** A queue visited by fewer requests says nothing about the whole. */
const LEAST_VISITS = 0.08;

/**
 * Rule 8: the rate the service sustains, measured where it was overloaded: completions of the first queue / visits in
 * windows where it was full; for the event loop and connections, whose end of service is not the end of a hold, the
 * least of completions / visits over the visited queues. Without such windows R itself.
 */
export function findKnee(first: QueueModel, rate: number, models: readonly QueueModel[], frame: Frame): Knee {
  const { windows, sampling } = frame.timeline;
  if (sampling.kind !== 'none') {
    return {
      perSecond: SAMPLED_FACTOR * rate,
      how: 'capacity / own demand, a little less: the export is sampled',
    };
  }
  if (first.kind !== 'eventloop' && first.kind !== 'connection') {
    const done: number[] = [];
    for (const w of frame.rising) {
      const u = first.utilization[w];
      const full = first.kind === 'downstream' || u === null || u > FULL;
      const completions = first.lane.completions[w];
      if (windows[w].arrivalsPerSecond > rate && full && completions > 0 && first.visits > 0) {
        done.push(completions / windows[w].seconds / first.visits);
      }
    }
    const measured = mean(done);
    if (done.length > 0 && measured > 0.6 * rate && measured < 1.2 * rate) {
      return {
        perSecond: measured,
        how: 'completions of the full queue per request in the overloaded windows',
      };
    }
    return { perSecond: rate, how: 'capacity / own demand' };
  }
  const done: number[] = [];
  for (const w of frame.rising) {
    let least = Number.POSITIVE_INFINITY;
    for (const model of models) {
      if (model.visits < LEAST_VISITS || model.kind === 'connection' || model.kind === 'downstream') continue;
      least = Math.min(least, model.lane.completions[w] / windows[w].seconds / model.visits);
    }
    const { arrivalsPerSecond } = windows[w];
    if (arrivalsPerSecond > 0.8 * rate && least < OVERLOADED * arrivalsPerSecond) done.push(least);
  }
  if (done.length > 0) {
    return {
      perSecond: mean(done.slice(0, 3)),
      how: 'completions of the slowest visited queue in the first overloaded windows',
    };
  }
  return { perSecond: rate, how: 'capacity / own demand' };
}

function mean(values: readonly number[]): number {
  return values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : 0;
}
