import { mean, median } from './averages.ts';
import type { Baselines } from './opaque.ts';
import { type Demand, type Frame, type QueueModel, topWindows } from './queue-model.ts';
import { type Rate, UNKNOWN_RATE } from './rate.ts';
import type { Series } from './series.ts';

/** A fit of hidden servers is trusted when it explains this much and the queue reached this length. */
export const FIT_R2 = 0.55;
export const FIT_QUEUE = 0.3;

/** Completions within this factor of their median are one level. */
const PLATEAU = 1.2;
/** Unsampled, calls must be slower by this multiple of their cost, and the fit is believed up to this factor. */
export const DEEP = 2;
const BEHIND = 0.95;
const DEEPEST = 5;
const NEVER_IDLE = 0.95;
const AGREES = 1.15;

/** Rule 3: hidden servers, by the fit where there is one, else by the rate at which completions stay. */
export function serverRate(
  own: Series,
  demand: Demand,
  frame: Frame,
  baselines: Baselines,
  meanWaitNs: readonly number[],
): Rate & Partial<QueueModel> {
  const { rising, timeline } = frame;
  const base = own.baseNs ?? 0;
  const fit = baselines.fits.get(own.queue.index) ?? null;
  if (base <= 0 || demand.visits <= 0) return UNKNOWN_RATE;
  const inflation = Math.max(0, ...rising.map((w) => meanWaitNs[w])) / base;
  const topNs = Math.max(0, ...topWindows(rising).map((w) => meanWaitNs[w]));
  const queueRatio = fit ? topNs / fit.slopeNs : 0;
  // Calls that take several times their cost stand in the server's queue: what it completes then is its rate.
  const sampled = timeline.sampling.kind !== 'none';
  const plateau = plateauRate(own, demand, frame, meanWaitNs, sampled ? 0.5 * base : DEEP * base);
  const fitted =
    fit !== null &&
    fit.r2 > FIT_R2 &&
    queueRatio > FIT_QUEUE &&
    !busyWithoutQueue(own, fit.servers, frame, meanWaitNs);
  const fittedRate = fitted ? fit.servers / ((demand.visits * base) / 1e9) : null;
  if (plateau !== null && !sampled && (fittedRate === null || fittedRate > AGREES * plateau)) {
    return { saturatesAt: plateau, how: PLATEAU_HOW, queueRatio, inflation };
  }
  // While many calls wait no server is idle: a fit that says otherwise has the servers wrong, not the completions.
  if (fitted && !sampled) {
    const reached = Math.max(
      0,
      ...behindWindows(own, demand, frame, meanWaitNs).map((w) => completedRate(own, demand, frame, w)),
    );
    if (reached > 0 && reached < NEVER_IDLE * fittedRate!) {
      return { saturatesAt: reached, how: PLATEAU_HOW, queueRatio, inflation };
    }
  }
  if (fitted) {
    return {
      saturatesAt: fittedRate,
      how: `about ${fit.servers} servers, from how calls slow down with the calls in flight`,
      hidden: fit,
      queueRatio,
      inflation,
      capacity: fit.servers,
      capacityFrom: 'inferred',
      utilization: timeline.windows.map(({ seconds }, w) => {
        const costNs = own.holds[w] > 0 ? own.holdNs[w] / own.holds[w] : base;
        return (own.completions[w] * costNs) / (seconds * 1e9 * fit.servers);
      }),
    };
  }
  if (sampled && inflation > 0.8 && plateau !== null) {
    return { saturatesAt: plateau, how: PLATEAU_HOW, queueRatio, inflation };
  }
  return { ...UNKNOWN_RATE, queueRatio, inflation };
}

/** Servers busy for this share of the time make callers wait, on average at least this share of a call. */
const BUSY = 0.9;
const BUSY_WAIT = 0.5;

/** A fit has too few servers where they would all have been busy, yet calls were hardly slower: they waited elsewhere. */
function busyWithoutQueue(
  own: Series,
  servers: number,
  { rising, timeline }: Frame,
  meanWaitNs: readonly number[],
): boolean {
  const base = own.baseNs ?? 0;
  const busy = rising.filter((w) => {
    const costNs = own.holds[w] > 0 ? own.holdNs[w] / own.holds[w] : base;
    return own.completions[w] * costNs > BUSY * servers * timeline.windows[w].seconds * 1e9;
  });
  return busy.length >= 2 && mean(busy.map((w) => meanWaitNs[w])) < BUSY_WAIT * base;
}

export const PLATEAU_HOW = 'completions stay at this rate while calls slow down';

/** Windows in which far more calls came than the server completed, and calls took several times their cost. */
export function behindWindows(
  own: Series,
  demand: Pick<Demand, 'visits'>,
  { rising, timeline }: Frame,
  meanWaitNs: readonly number[],
): number[] {
  const base = own.baseNs ?? 0;
  if (base <= 0) return [];
  return rising.filter((w) => {
    const { arrivalsPerSecond, seconds } = timeline.windows[w];
    const came = demand.visits * arrivalsPerSecond;
    return meanWaitNs[w] > DEEPEST * base && own.completions[w] / seconds < BEHIND * came;
  });
}

function completedRate(own: Series, { visits }: Demand, { timeline }: Frame, w: number): number {
  return own.completions[w] / timeline.windows[w].seconds / visits;
}

/** Rate of requests at which completions stay in the windows where calls are slower than their cost by `excessNs`. */
export function plateauRate(
  own: Series,
  demand: Demand,
  { rising, timeline }: Frame,
  meanWaitNs: readonly number[],
  excessNs: number,
): number | null {
  const completed = (w: number) => own.completions[w] / timeline.windows[w].seconds;
  const all = rising.filter((w) => meanWaitNs[w] > excessNs);
  // Bursts make calls slow long before the server falls behind: where some windows fall behind, those count.
  const behind = all.filter(
    (w) => completed(w) < BEHIND * demand.visits * timeline.windows[w].arrivalsPerSecond,
  );
  const slow = behind.length >= 2 ? behind : all;
  if (slow.length < 2) return null;
  const level = median(slow.map(completed));
  // A plateau: at the top no more is completed than in the other windows in which calls were slow.
  const most = Math.max(...slow.slice(-2).map(completed));
  return level > 0 && most <= PLATEAU * level ? level / demand.visits : null;
}
