import type { Frame, QueueModel } from '../aggregate/queue-model.ts';
import { behindWindows } from '../aggregate/server-rate.ts';

/** Rule 6 thresholds. */
const WAIT_FACTOR = 1.5;
const WAIT_NS_PER_REQUEST = 1e5;
const FULL = 0.9;
const FULL_SAMPLED = 0.81;
/** No gap between two holds, give or take the edges of a window. */
const BRIM = 0.95;
/** Users who wait do not arrive: a closed loop never fills a queue to the brim. */
const FULL_CLOSED = 0.85;
const SERVER_BELOW_TOP = 0.97;
/** Servers counted by a fit: less certain, so fuller. */
const SERVER_FULL = 0.95;
/** A queue that loses: this share more of its arrivals is rejected or times out than at low load. */
const LOSS_GROWTH = 0.02;
/** Windows beyond a limit that show how far a queue was driven: the further ones are deep overload, where much is lost. */
const NEAR_LIMIT = 2;
/** A loss system is never full on average: with random arrivals at its rate one server is busy half the time (Erlang B). */
const FULL_LOSING = 0.5;

/** Mean visits per request of the whole queue (not only its busiest row) in the windows demand is taken from. */
export function queueVisits(model: QueueModel, frame: Frame): number {
  let n = 0;
  let arrivals = 0;
  for (const w of frame.pre) {
    n += frame.timeline.windows[w].requests;
    arrivals += model.series.arrivals[w];
  }
  return n > 0 ? arrivals / n : 0;
}

/** Rule 6: waits grow from the low windows to the top ones, by factor and by time per request. */
export function waitsGrow(model: QueueModel, frame: Frame): boolean {
  const growthNs = model.topWaitNs - model.lowWaitNs;
  return (
    growthNs * queueVisits(model, frame) > WAIT_NS_PER_REQUEST &&
    model.topWaitNs > WAIT_FACTOR * model.lowWaitNs
  );
}

/** Queueing or losing (rule 6): a queue without waiting room shows its saturation by losses. */
export function lossesGrow(model: QueueModel): boolean {
  return model.topLoss - model.lowLoss > LOSS_GROWTH && model.topLoss > WAIT_FACTOR * model.lowLoss;
}

export function queueing(model: QueueModel, frame: Frame): boolean {
  return waitsGrow(model, frame) || lossesGrow(model) || isFullAtTop(model, frame);
}

/**
 * Busy all the time in the two highest windows, and who comes waits for a whole hold: such a queue counts although its waits grow
 * no more, because few can wait at it (a small pool around it), or because it was overloaded from the first window on.
 */
function isFullAtTop({ utilization, topWaitNs, meanHoldNs, queue }: QueueModel, frame: Frame): boolean {
  return (
    frame.rising.length > 1 &&
    !queue.holdsRebuilt &&
    topWaitNs >= meanHoldNs &&
    frame.rising.slice(-2).every((w) => (utilization[w] ?? 0) >= BRIM)
  );
}

/** Highest utilisation over the rising windows; null when unknown. */
export function maxUtilization(model: QueueModel, frame: Frame): number | null {
  let max: number | null = null;
  for (const w of frame.rising) {
    const u = model.utilization[w];
    if (u !== null) max = Math.max(max ?? 0, u);
  }
  return max;
}

/**
 * Mean utilisation in the windows that offer at least 0.95 × R, or another rate at which it should be full (the highest
 * window where none does): how far a queue was really driven. Behind another bottleneck it stays below what R promises.
 */
export function drivenUtilization(
  model: QueueModel,
  frame: Frame,
  perSecond: number = model.saturatesAt ?? Number.POSITIVE_INFINITY,
): number | null {
  const { windows } = frame.timeline;
  const limit = 0.95 * perSecond;
  let beyond = frame.rising.filter((w) => windows[w].arrivalsPerSecond >= limit);
  beyond = beyond.length === 0 ? frame.rising.slice(-1) : beyond.slice(0, NEAR_LIMIT);
  const known = beyond.flatMap((w) => model.utilization[w] ?? []);
  return known.length > 0 ? known.reduce((a, b) => a + b, 0) / known.length : null;
}

/** Rule 6: a queue that grows and is full (servers without holds: driven to their rate). */
export function isSaturated(model: QueueModel, frame: Frame, closed = false): boolean {
  if (!queueing(model, frame)) return false;
  const u = maxUtilization(model, frame);
  if (model.kind === 'downstream' || (model.kind === 'connection' && u === null)) {
    if (model.saturatesAt === null) return false;
    if (behindWindows(model.series, model, frame, model.meanWaitNs).length > 0) return true;
    return (
      model.saturatesAt < SERVER_BELOW_TOP * frame.topRate || (u ?? 0) >= (closed ? FULL_CLOSED : SERVER_FULL)
    );
  }
  if (u === null) return false;
  if (model.queue.holdsRebuilt && !lossesGrow(model) && !waitsLikeFull(model)) return false;
  if (u >= FULL || (closed && u >= FULL_CLOSED)) return true;
  if (frame.timeline.sampling.kind !== 'none' && u > FULL_SAMPLED) return true;
  return lossesGrow(model) && u >= FULL_LOSING;
}

/**
 * Servers counted at the fullest moment are all busy there, and holds of several rows without keys fill one: of what was
 * rebuilt only waits tell. Who meets a full queue waits at least until the next of its servers is free; of a lock, whose
 * rows nobody knows, for a whole hold.
 */
function waitsLikeFull({ kind, capacity, processes, meanHoldNs, topWaitNs }: QueueModel): boolean {
  const servers = kind === 'lock' || capacity === null ? 1 : Math.max(1, capacity / processes);
  return topWaitNs >= meanHoldNs / servers;
}

/** Hold of a queue per visit over some windows, and the waits nested in it by queue, ns. */
export interface HoldParts {
  readonly holdNs: number;
  readonly waitNs: number;
  readonly nestedNs: ReadonlyMap<number, number>;
}

export function holdParts(model: QueueModel, windows: readonly number[]): HoldParts {
  const { series } = model;
  let holds = 0;
  let holdNs = 0;
  let arrivals = 0;
  let waitNs = 0;
  const nested = new Map<number, number>();
  for (const w of windows) {
    holds += series.holds[w];
    holdNs += series.holdNs[w];
    arrivals += Math.max(series.arrivals[w], series.waits[w]);
    waitNs += series.waitNs[w];
    for (const [queue, sums] of series.nestedNs) nested.set(queue, (nested.get(queue) ?? 0) + sums[w]);
  }
  for (const [queue, ns] of nested) nested.set(queue, holds > 0 ? ns / holds : 0);
  return {
    holdNs: holds > 0 ? holdNs / holds : 0,
    waitNs: arrivals > 0 ? waitNs / arrivals : 0,
    nestedNs: nested,
  };
}

/** Share of the growth of `outer`'s hold, between two sets of windows, that is waiting on `inner`; 0 when it did not grow. */
export function shareOfHoldGrowth(
  outer: QueueModel,
  inner: QueueModel,
  from: readonly number[],
  to: readonly number[],
  leastGrowth: number,
): number {
  const before = holdParts(outer, from);
  const after = holdParts(outer, to);
  const growthNs = after.holdNs - before.holdNs;
  if (growthNs <= leastGrowth * before.holdNs || growthNs <= 0) return 0;
  const queue = inner.queue.index;
  return ((after.nestedNs.get(queue) ?? 0) - (before.nestedNs.get(queue) ?? 0)) / growthNs;
}
