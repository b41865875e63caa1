import type { Activity } from '../aggregate/activity.ts';
import { type Frame, hasItsServers, type QueueModel } from '../aggregate/queue-model.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import { forecast } from './forecast.ts';
import { perSecond } from './numbers.ts';
import { lossesGrow, queueVisits, waitsGrow } from './saturation.ts';

export interface Knee {
  readonly perSecond: number;
  readonly how: string;
}

/** Rule 8 thresholds. */
const FULL = 0.95;
const BRIM = 0.98;
const SAMPLED_FACTOR = 0.96;
/** A queue visited by fewer requests says nothing about the whole. */
const LEAST_VISITS = 0.3;
/** Measured rates outside this range of R are another effect than saturation of this queue. */
const PLAUSIBLE = { low: 0.6, high: 1.2 } as const;

/**
 * Rule 8: the rate the service sustains, measured where it was overloaded: completions of the first queue / visits in
 * windows where it was full. For the event loop, connections and stretched holds, whose end of service is not the end
 * of a hold, the highest throughput reached: completions / visits of the slowest visited queue, mean of the two best
 * windows, and no less than a rate with which the service kept up. A queue that turns away instead of letting wait is
 * never full on average (Erlang B): what it serves at most is its knee. Without such windows R itself.
 */
export function findKnee(
  first: QueueModel,
  rate: number,
  stretched: boolean,
  models: readonly QueueModel[],
  frame: Frame,
  activity: Activity,
  requests: Requests,
): Knee {
  const { windows, sampling } = frame.timeline;
  // Where nothing was measured beyond the knee, the loop's waits inside other holds still lower it.
  const limit = Math.min(rate, forecast(models, frame)?.perSecond ?? rate);
  if (sampling.kind !== 'none') {
    return {
      perSecond: Math.max(PLAUSIBLE.low * rate, Math.min(SAMPLED_FACTOR * rate, limit)),
      how: 'capacity / own demand, a little less: the export is sampled',
    };
  }
  if (stretched || first.kind === 'eventloop' || first.kind === 'connection') {
    return (
      highestThroughput(rate, limit, models, frame, activity, requests) ?? {
        perSecond: limit,
        how: 'capacity / own demand',
      }
    );
  }
  const servers = { servers: first.capacity, byWindow: first.serversByWindow };
  const settled = frame.rising.filter((w) => hasItsServers(servers, w));
  if (lossesGrow(first) && !waitsGrow(first, frame) && first.visits > 0) {
    const served = settled.map((w) => first.lane.completions[w] / windows[w].seconds / first.visits);
    const most = mean(served.sort((a, b) => b - a).slice(0, 2));
    if (most > PLAUSIBLE.low * rate && most <= rate) {
      return { perSecond: most, how: 'the most that was served, the others being turned away' };
    }
  }
  const done: number[] = [];
  for (const w of settled) {
    const u = first.utilization[w];
    const full = first.kind === 'downstream' || u === null || u > FULL;
    const completions = first.lane.completions[w];
    // A queue that is busy all the time completes what it can, whatever is offered.
    const offered = windows[w].arrivalsPerSecond > rate || (u ?? 0) > BRIM;
    if (offered && full && completions > 0 && first.visits > 0) {
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
  return { perSecond: Math.max(PLAUSIBLE.low * rate, limit), how: 'capacity / own demand' };
}

/** Detected windows may join several rates: throughput is then looked at in this many equal slots. */
const SLOTS = 10;

/** Mean of the two windows that fell behind (slots without a plan) with the highest throughput of the slowest visited queue, never above R. */
function highestThroughput(
  rate: number,
  limit: number,
  models: readonly QueueModel[],
  frame: Frame,
  activity: Activity,
  requests: Requests,
): Knee | null {
  const counted = models.filter(
    (m) => m.visits >= LEAST_VISITS && m.kind !== 'connection' && m.kind !== 'downstream',
  );
  // A busy loop does in one slice what took several, and the shortest are not exported: slices a request are no constant.
  const holding = counted.filter((m) => m.kind !== 'eventloop');
  const visited = holding.length > 0 ? holding : counted;
  if (visited.length === 0) return null;
  const throughput =
    frame.timeline.plan === null ? bySlot(visited, frame, activity, requests) : byWindow(visited, frame);
  const isKept = keptUp(throughput, frame);
  const kept = Math.max(0, ...throughput.filter((_, i) => isKept[i]));
  const behind = throughput.filter((_, i) => !isKept[i]).sort((a, b) => b - a);
  const measured = Math.max(kept, mean(behind.slice(0, 2)));
  if (measured <= 0) return null;
  const beyond = frame.rising
    .map((w) => frame.timeline.windows[w].arrivalsPerSecond)
    .find((one) => one > kept / KEPT_UP);
  if (kept > 0 && measured <= kept && beyond !== undefined && beyond > UNTRIED * kept) {
    return {
      perSecond: Math.max(kept, Math.min(limit, beyond)),
      how: `capacity / own demand, between ${perSecond(kept)}, with which it kept up, and ${perSecond(beyond)}, under which it did less`,
    };
  }
  return {
    perSecond: Math.min(measured, rate * 1.03),
    how: 'highest throughput reached, of the slowest visited queue',
  };
}

/** Next rate tried / the one kept up with, beyond which the knee is somewhere between them, not at the lower one. */
const UNTRIED = 1.5;

/** What comes out is what went in: then the service kept up. */
const KEPT_UP = 0.95;

/** In which windows of the plan the service kept up with what arrived; without a plan nobody knows. */
function keptUp(throughput: readonly number[], { rising, timeline }: Frame): boolean[] {
  return throughput.map(
    (rate, i) => timeline.plan !== null && rate >= KEPT_UP * timeline.windows[rising[i]].arrivalsPerSecond,
  );
}

function byWindow(visited: readonly QueueModel[], frame: Frame): number[] {
  const { rising, timeline } = frame;
  // Of a lock all rows: which of them a request asks for is a matter of chance.
  const visitsOf = (m: QueueModel) => (m.busiestKey === null ? m.visits : queueVisits(m, frame));
  return rising.map((w) => {
    const { seconds, arrivalsPerSecond } = timeline.windows[w];
    const least = Math.min(...visited.map((m) => m.series.completions[w] / seconds / visitsOf(m)));
    return Math.min(least, arrivalsPerSecond);
  });
}

function bySlot(
  visited: readonly QueueModel[],
  { rising, pre, timeline }: Frame,
  activity: Activity,
  requests: Requests,
): number[] {
  const from = Math.min(...rising.map((w) => timeline.windows[w].startNs));
  const to = Math.max(...rising.map((w) => timeline.windows[w].endNs));
  const length = (to - from) / SLOTS;
  const slotOf = (timeNs: number) => Math.floor((timeNs - from) / length);
  const arrived = new Float64Array(SLOTS);
  for (let i = 0; i < requests.count; i++) {
    const slot = slotOf(requests.startNs[i]);
    if (slot >= 0 && slot < SLOTS) arrived[slot]++;
  }
  const least = arrived.map((n) => n / (length / 1e9));
  for (const model of visited) {
    const n = pre.reduce((sum, w) => sum + timeline.windows[w].requests, 0);
    const visits = n > 0 ? pre.reduce((sum, w) => sum + model.series.holds[w], 0) / n : 0;
    if (visits <= 0) continue;
    const done = new Float64Array(SLOTS);
    const ends = model.kind === 'eventloop' ? activity.work : activity.holds;
    for (let i = 0; i < ends.length; i++) {
      const slot = ends.queue[i] === model.queue.index ? slotOf(ends.endNs[i]) : -1;
      if (slot >= 0 && slot < SLOTS) done[slot]++;
    }
    for (let s = 0; s < SLOTS; s++) least[s] = Math.min(least[s], done[s] / (length / 1e9) / visits);
  }
  return [...least];
}

function mean(values: readonly number[]): number {
  return values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : 0;
}
