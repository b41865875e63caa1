import type { Capacity } from './capacity.ts';
import type { Baselines } from './opaque.ts';
import { type Demand, type Frame, type QueueModel, topWindows } from './queue-model.ts';
import { type Rate, UNKNOWN_RATE } from './rate.ts';
import type { Series } from './series.ts';
import { DEEP, FIT_QUEUE, FIT_R2, PLATEAU_HOW, plateauRate } from './server-rate.ts';
import type { Timeline } from './windows.ts';

/** Fewer new connections than this over the rising windows say nothing about a limit on them. */
const FEWEST_CONNECTIONS = 30;

/**
 * Establishing connections: servers / (visits × cost of one). Visits depend on load (a busy pool opens more or fewer
 * connections), so they are those of the windows nearest to the rate they give; servers stated or fitted (rule 3).
 */
export function connectionRate(
  own: Series,
  demand: Demand,
  frame: Frame,
  capacity: Capacity,
  baselines: Baselines,
  meanWaitNs: readonly number[],
): Rate & Partial<QueueModel> {
  const base = own.baseNs ?? 0;
  if (base <= 0 || demand.visits <= 0) return UNKNOWN_RATE;
  const { rising, timeline } = frame;
  const opened = rising.reduce((sum, w) => sum + own.holds[w], 0);
  if (opened < FEWEST_CONNECTIONS) return UNKNOWN_RATE;
  const fit = capacity.servers === null ? (baselines.fits.get(own.queue.index) ?? null) : null;
  const topNs = Math.max(0, ...topWindows(rising).map((w) => meanWaitNs[w]));
  const trusted = fit !== null && fit.r2 > FIT_R2 && topNs / fit.slopeNs > FIT_QUEUE;
  const servers = capacity.servers ?? (trusted ? fit.servers : null);
  if (servers === null) {
    // As with servers: connections that take several times their cost, and no more of them for it.
    const plateau =
      timeline.sampling.kind === 'none' ? plateauRate(own, demand, frame, meanWaitNs, DEEP * base) : null;
    return plateau === null ? UNKNOWN_RATE : { saturatesAt: plateau, how: PLATEAU_HOW };
  }
  const rateOf = (visits: number) => servers / ((visits * base) / 1e9);
  const visits = visitsNear(own, rising, timeline, rateOf) ?? demand.visits;
  const rate = {
    saturatesAt: rateOf(visits),
    how: 'servers / (new connections per request × cost of one)',
    visits,
    demandNs: visits * base,
  };
  return trusted ? { ...rate, hidden: fit, capacity: fit.servers, capacityFrom: 'inferred' } : rate;
}

/** Connections a request opens in the windows whose rate is within 30 % of the rate that follows from it. */
function visitsNear(
  own: Series,
  rising: readonly number[],
  timeline: Timeline,
  rateOf: (visits: number) => number,
): number | null {
  let best: number | null = null;
  let distance = Number.POSITIVE_INFINITY;
  for (let i = 0; i < rising.length; i++) {
    const near = rising.slice(Math.max(0, i - 1), i + 2);
    const n = near.reduce((sum, w) => sum + timeline.windows[w].requests, 0);
    const opened = near.reduce((sum, w) => sum + own.holds[w], 0);
    if (n === 0 || opened < FEWEST_CONNECTIONS / 2) continue;
    const visits = opened / n;
    const apart = Math.abs(Math.log(rateOf(visits) / timeline.windows[rising[i]].arrivalsPerSecond));
    if (apart < distance) {
      distance = apart;
      best = visits;
    }
  }
  return best;
}
