import { type Capacity, capacityOf } from './capacity.ts';
import { chance, FLAT } from './flatness.ts';
import type { Baselines, HiddenCapacity } from './opaque.ts';
import {
  type Demand,
  demandOver,
  type Frame,
  lowWindows,
  perArrival,
  type QueueModel,
  topWindows,
} from './queue-model.ts';
import type { Lane, Series } from './series.ts';
import type { Timeline } from './windows.ts';

/** Demand is taken from windows up to this share of the top rate, then again up to PRE_KNEE × the lowest R. */
const PRE_TOP = 0.62;
const PRE_KNEE = 0.85;

/** A fit of hidden servers is trusted when it explains this much and the queue reached this length. */
const FIT_R2 = 0.55;
const FIT_QUEUE = 0.3;

/** Completions within this factor of their median are one level. */
const PLATEAU = 1.2;
/** Unsampled, calls must be slower by this multiple of their cost, and the fit is believed up to this factor. */
const DEEP = 2;
const BEHIND = 0.95;
const DEEPEST = 5;
const NEVER_IDLE = 0.8;
const AGREES = 1.15;

/** An instance this much above the mean is hotter by more than chance (with 3 standard errors of its count). */
const HOT_RATIO = 1.1;

/** Rule 5: demand, capacity and saturation rate of every queue, ascending by rate (unknown ones last). */
export function buildModels(
  series: readonly Series[],
  timeline: Timeline,
  baselines: Baselines,
): { models: QueueModel[]; frame: Frame } {
  const { windows, rising, top } = timeline;
  const topRate = top < 0 ? 0 : windows[top].arrivalsPerSecond;
  const lows = lowWindows(timeline);
  let pre = rising.filter((w) => windows[w].arrivalsPerSecond <= PRE_TOP * topRate);
  if (pre.length < 2) pre = rising.slice(0, 2);
  const frame = (): Frame => ({ timeline, rising, lows, pre, topRate });
  const build = () =>
    series
      .map((own) => modelOf(own, frame(), baselines))
      .sort(
        (a, b) => (a.saturatesAt ?? Number.POSITIVE_INFINITY) - (b.saturatesAt ?? Number.POSITIVE_INFINITY),
      );
  let models = build();
  const lowest = models[0]?.saturatesAt ?? null;
  if (lowest !== null) {
    const wider = rising.filter((w) => windows[w].arrivalsPerSecond <= PRE_KNEE * lowest);
    if (wider.length >= 2) {
      pre = wider;
      models = build();
    }
  }
  return { models, frame: frame() };
}

function modelOf(own: Series, frame: Frame, baselines: Baselines): QueueModel {
  const { timeline, rising, lows, pre } = frame;
  const { windows } = timeline;
  const { queue } = own;
  const hotKey = own.keys[0] ?? null;
  const lane: Lane = hotKey?.lane ?? own;
  const capacity = capacityOf(queue, lane, hotKey !== null, timeline);
  const requests = (w: number) => windows[w].requests;
  const pauses = queue.kind === 'eventloop' ? own.pauseNs : null;
  const demand = demandOver(lane, pauses, pre, requests);
  const meanWaitNs = windows.map((_, w) => perArrival(own, own.waitNs, w));
  const lossShare = windows.map((_, w) => {
    const n = Math.max(own.arrivals[w], own.waits[w]);
    return n > 0 ? (own.rejected[w] + own.timedOut[w]) / n : 0;
  });
  const utilization = windows.map((window, w) => {
    if (own.measured) return own.measured[w];
    if (capacity.servers === null) return null;
    return lane.busyNs[w] / ((window.endNs - window.startNs) * capacity.servers);
  });
  const tops = topWindows(rising);
  const hottest = hottestInstance(own, capacity, pre, requests);
  const serviceNs = new Map<number, number>();
  const n = pre.reduce((sum, w) => sum + requests(w), 0);
  for (const [other, sums] of lane.serviceNs) {
    serviceNs.set(other, n > 0 ? pre.reduce((sum, w) => sum + sums[w], 0) / n : 0);
  }
  const holdOver = (set: readonly number[]) => {
    let holds = 0;
    let ns = 0;
    for (const w of set) {
      holds += own.holds[w];
      ns += own.holdNs[w];
    }
    return holds > 0 && rising.length > 1 ? ns / holds : null;
  };
  const base = {
    ...flatness(lane, pauses, pre, requests),
    lowHoldNs: holdOver(lows),
    topHoldNs: holdOver(tops),
    queue,
    name: queue.name,
    kind: queue.kind,
    series: own,
    lane,
    busiestKey: hotKey?.key ?? null,
    capacity: capacity.servers,
    capacityFrom: capacity.from,
    visits: demand.visits,
    demandNs: demand.demandNs,
    meanHoldNs: demand.meanHoldNs,
    utilization,
    meanWaitNs,
    lossShare,
    topWaitNs: Math.max(0, ...tops.map((w) => meanWaitNs[w])),
    lowWaitNs: mean(lows.map((w) => meanWaitNs[w])),
    topLoss: Math.max(0, ...tops.map((w) => lossShare[w])),
    lowLoss: mean(lows.map((w) => lossShare[w])),
    hottest,
    serviceNs,
    hidden: null as HiddenCapacity | null,
    queueRatio: 0,
    inflation: 0,
  };
  if (own.measured) return { ...base, ...measuredRate(own.measured, base, frame) };
  if (queue.kind === 'downstream')
    return { ...base, ...serverRate(own, demand, frame, baselines, meanWaitNs) };
  if (queue.kind === 'connection')
    return { ...base, ...connectionRate(own, demand, frame, capacity, baselines, meanWaitNs) };
  return { ...base, ...ownRate(demand, capacity, hottest) };
}

/** Fewer holds than this in a window make its mean a matter of chance. */
const FEWEST_HOLDS = 15;

/** Own demand by window; flat when the upper windows below the knee cost at most 15 % more or less than the lower. */
function flatness(
  lane: Lane,
  pauses: Float64Array | null,
  pre: readonly number[],
  requests: (w: number) => number,
): Pick<QueueModel, 'demandByWindow' | 'demandFlat' | 'demandRatio' | 'visitsRatio'> {
  const demandByWindow = pre
    .filter((w) => lane.holds[w] >= FEWEST_HOLDS)
    .map((window) => ({ window, ...demandOver(lane, pauses, [window], requests) }));
  const used = demandByWindow.map(({ window }) => window);
  if (used.length < 2) return { demandByWindow, demandFlat: null, demandRatio: null, visitsRatio: null };
  const half = Math.ceil(used.length / 2);
  // Slices and statements of one request are not independent of each other.
  const holdsIn = (set: readonly number[]) =>
    set.reduce((sum, w) => sum + Math.min(lane.holds[w], requests(w)), 0);
  const low = demandOver(lane, pauses, used.slice(0, half), requests);
  const high = demandOver(lane, pauses, used.slice(-half), requests);
  if (low.demandNs <= 0) return { demandByWindow, demandFlat: null, demandRatio: null, visitsRatio: null };
  const demandRatio = high.demandNs / low.demandNs;
  return {
    demandByWindow,
    demandFlat:
      Math.abs(demandRatio - 1) <=
      Math.max(FLAT, chance(holdsIn(used.slice(0, half)), holdsIn(used.slice(-half)))),
    demandRatio,
    visitsRatio: low.visits > 0 ? high.visits / low.visits : null,
  };
}

interface Rate {
  readonly saturatesAt: number | null;
  readonly how: string;
}

/** R = capacity / D; of the hottest instance where that one is hotter than chance explains. */
function ownRate(demand: Demand, capacity: Capacity, hottest: QueueModel['hottest']): Rate {
  if (capacity.servers === null || demand.demandNs <= 0) return UNKNOWN_RATE;
  const even = capacity.servers / (demand.demandNs / 1e9);
  if (hottest?.alone) {
    return { saturatesAt: even / hottest.ratio, how: `capacity / own demand of ${hottest.instance}` };
  }
  return { saturatesAt: even, how: 'capacity / own demand' };
}

/** Fewer windows, or less explained variance, and the line's start is chance; no process idles at more than this. */
const LINE_POINTS = 4;
const LINE_R2 = 0.9;
const MOST_IDLE = 0.3;

/**
 * A loop that measured its own utilisation: u = u0 + rate × D by least squares over the windows below the knee (through
 * 0 with fewer than four, or where they are on no line); u0 is what no request accounts for, D at least what slices prove. R = (1 − u0) / D.
 */
function measuredRate(
  measured: Float64Array,
  base: { readonly demandNs: number; readonly capacity: number | null },
  frame: Frame,
): Rate & Partial<QueueModel> {
  const servers = base.capacity ?? 1;
  const points = frame.pre.map((w) => ({
    x: frame.timeline.windows[w].arrivalsPerSecond,
    y: measured[w] * servers,
  }));
  const line = points.length >= LINE_POINTS ? leastSquares(points) : null;
  const idle =
    line && line.slope > 0 && line.r2 > LINE_R2
      ? Math.min(MOST_IDLE * servers, Math.max(0, line.intercept))
      : 0;
  const mx = mean(points.map((p) => p.x));
  const slope = mx > 0 ? (mean(points.map((p) => p.y)) - idle) / mx : 0;
  const demandNs = Math.max(base.demandNs, slope * 1e9);
  if (demandNs <= 0) return UNKNOWN_RATE;
  return {
    saturatesAt: (servers - idle) / (demandNs / 1e9),
    how:
      idle > 0.01
        ? `measured utilisation, of which ${((100 * idle) / servers).toFixed(0)} % belongs to no request`
        : 'measured utilisation / rate',
    demandNs,
  };
}

function leastSquares(
  points: readonly { x: number; y: number }[],
): { slope: number; intercept: number; r2: number } | null {
  const mx = mean(points.map((p) => p.x));
  const my = mean(points.map((p) => p.y));
  let sxx = 0;
  let sxy = 0;
  let syy = 0;
  for (const { x, y } of points) {
    sxx += (x - mx) ** 2;
    sxy += (x - mx) * (y - my);
    syy += (y - my) ** 2;
  }
  if (sxx === 0 || syy === 0) return null;
  return { slope: sxy / sxx, intercept: my - (sxy / sxx) * mx, r2: (sxy * sxy) / (sxx * syy) };
}

/** Rule 3: hidden servers, by the fit where there is one, else by the rate at which completions stay. */
function serverRate(
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
  const fitted = fit !== null && fit.r2 > FIT_R2 && queueRatio > FIT_QUEUE;
  const fittedRate = fitted ? fit.servers / ((demand.visits * base) / 1e9) : null;
  if (plateau !== null && !sampled && (fittedRate === null || fittedRate > AGREES * plateau)) {
    return { saturatesAt: plateau, how: PLATEAU_HOW, queueRatio, inflation };
  }
  // While many calls wait no server is idle: a fit that says otherwise has the cost wrong, not the completions.
  if (fitted && !sampled && topNs > DEEPEST * base) {
    const most = rising
      .map((w) => own.completions[w] / timeline.windows[w].seconds / demand.visits)
      .sort((a, b) => b - a)
      .slice(0, 2);
    const reached = mean(most);
    if (reached < NEVER_IDLE * fittedRate!) {
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

const PLATEAU_HOW = 'completions stay at this rate while calls slow down';

/** Rate of requests at which completions stay in the windows where calls are slower than their cost by `excessNs`. */
function plateauRate(
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

/** Fewer new connections than this over the rising windows say nothing about a limit on them. */
const FEWEST_CONNECTIONS = 30;

/**
 * Establishing connections: servers / (visits × cost of one). Visits depend on load (a busy pool opens more or fewer
 * connections), so they are those of the windows nearest to the rate they give; servers stated or fitted (rule 3).
 */
function connectionRate(
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
  if (servers === null) return UNKNOWN_RATE;
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

function hottestInstance(
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

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length > 0 ? sorted[sorted.length >> 1] : 0;
}

function mean(values: readonly number[]): number {
  return values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : 0;
}

const UNKNOWN_RATE: Rate = { saturatesAt: null, how: '' };
