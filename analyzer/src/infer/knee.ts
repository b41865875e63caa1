import type { Frame, QueueModel } from '../aggregate/queue-model.ts';

export interface Knee {
  readonly perSecond: number;
  readonly how: string;
}

/** Rule 8 thresholds. */
const FULL = 0.95;
const SAMPLED_FACTOR = 0.96;
/** A queue visited by fewer requests says nothing about the whole. */
const LEAST_VISITS = 0.3;
/** Measured rates outside this range of R are another effect than saturation of this queue. */
const PLAUSIBLE = { low: 0.6, high: 1.2 } as const;

/**
 * Rule 8: the rate the service sustains, measured where it was overloaded: completions of the first queue / visits in
 * windows where it was full. For the event loop, connections and stretched holds, whose end of service is not the end
 * of a hold, the highest throughput reached: completions / visits of the slowest visited queue, mean of the two best
 * windows. Without such windows R itself.
 */
export function findKnee(
  first: QueueModel,
  rate: number,
  stretched: boolean,
  models: readonly QueueModel[],
  frame: Frame,
): Knee {
  const { windows, sampling } = frame.timeline;
  if (sampling.kind !== 'none') {
    return {
      perSecond: SAMPLED_FACTOR * rate,
      how: 'capacity / own demand, a little less: the export is sampled',
    };
  }
  if (stretched || first.kind === 'eventloop' || first.kind === 'connection') {
    return highestThroughput(rate, models, frame) ?? { perSecond: rate, how: 'capacity / own demand' };
  }
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
  if (done.length > 0 && measured > PLAUSIBLE.low * rate && measured < PLAUSIBLE.high * rate) {
    return {
      perSecond: measured,
      how: 'completions of the full queue per request in the overloaded windows',
    };
  }
  return { perSecond: rate, how: 'capacity / own demand' };
}

/** Mean of the two windows with the highest throughput of the slowest visited queue, never above R. */
function highestThroughput(rate: number, models: readonly QueueModel[], frame: Frame): Knee | null {
  const { windows } = frame.timeline;
  const visited = models.filter(
    (m) => m.visits >= LEAST_VISITS && m.kind !== 'connection' && m.kind !== 'downstream',
  );
  if (visited.length === 0) return null;
  const done = frame.rising
    .map((w) => {
      const least = Math.min(...visited.map((m) => m.lane.completions[w] / windows[w].seconds / m.visits));
      return Math.min(least, windows[w].arrivalsPerSecond);
    })
    .sort((a, b) => b - a)
    .slice(0, 2);
  const measured = mean(done);
  if (measured <= 0) return null;
  return {
    perSecond: Math.min(measured, rate * 1.03),
    how: 'highest throughput reached, of the slowest visited queue',
  };
}

function mean(values: readonly number[]): number {
  return values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : 0;
}
