import { mean } from './averages.ts';
import type { Frame, QueueModel } from './queue-model.ts';
import { type Rate, UNKNOWN_RATE } from './rate.ts';
import type { Series } from './series.ts';

/** Fewer windows, or less explained variance, and the line's start is chance; no process idles at more than this. */
const LINE_POINTS = 4;
const LINE_R2 = 0.9;
const MOST_IDLE = 0.3;

interface Point {
  readonly perSecond: number;
  /** Busy servers: utilisation × processes. */
  readonly busy: number;
  /** Work that requests state or slices prove, ns per request. */
  readonly workNs: number;
}

/**
 * Rate of an event loop. Its utilisation u is λ × D and a rest that no request accounts for; the rest is partly per
 * request (parsing, garbage) and partly per turn of the loop, and a busy loop takes many requests in one turn.
 *
 * D is the work the requests state themselves, where they do: then R = (1 − rest at the highest window below the knee) / D,
 * at least 1 / (u / λ) (all of the rest grows with load), at most (1 − least rest) / least D of any window. Without
 * stated work D is the slope of u over the rate, through 0 with fewer than four windows or where they are on no line.
 */
export function loopRate(
  own: Series,
  base: Pick<QueueModel, 'demandNs' | 'capacity' | 'hottest' | 'serversByWindow'>,
  frame: Frame,
): (Rate & Partial<QueueModel>) | null {
  const rate = evenRate(own, base, frame);
  const { hottest } = base;
  if (rate === null || rate.saturatesAt === null || !hottest?.alone) return rate;
  const { ratio, instance } = hottest;
  const { saturatesBetween } = rate;
  return {
    ...rate,
    saturatesAt: rate.saturatesAt / ratio,
    how: `${rate.how}, of ${instance}`,
    ...(saturatesBetween && {
      saturatesBetween: { low: saturatesBetween.low / ratio, high: saturatesBetween.high / ratio },
    }),
  };
}

/** As if every process had its even share. */
function evenRate(
  own: Series,
  base: Pick<QueueModel, 'demandNs' | 'capacity' | 'serversByWindow'>,
  frame: Frame,
): (Rate & Partial<QueueModel>) | null {
  const servers = base.capacity ?? 1;
  const workNs = statedOver(own, frame.pre, frame);
  if (own.measured === null) {
    // Sampled, or no gauge: work alone.
    if (workNs === null || workNs <= base.demandNs) return null;
    return { saturatesAt: (servers * 1e9) / workNs, how: 'work stated on the roots', demandNs: workNs };
  }
  const measured = own.measured;
  const points = frame.pre.map(
    (w): Point => ({
      perSecond: frame.timeline.windows[w].arrivalsPerSecond,
      busy: measured[w] * (base.serversByWindow?.[w] ?? servers),
      workNs: Math.max(base.demandNs, statedOver(own, [w], frame) ?? 0),
    }),
  );
  if (workNs === null) return byLine(points, base.demandNs, servers);
  return byWork(points, Math.max(workNs, base.demandNs), servers, leastGoodWork(own, frame));
}

function byLine(points: readonly Point[], provenNs: number, servers: number): Rate & Partial<QueueModel> {
  const line = points.length >= LINE_POINTS ? leastSquares(points) : null;
  const idle =
    line && line.slope > 0 && line.r2 > LINE_R2
      ? Math.min(MOST_IDLE * servers, Math.max(0, line.intercept))
      : 0;
  const mx = mean(points.map((p) => p.perSecond));
  const slope = mx > 0 ? (mean(points.map((p) => p.busy)) - idle) / mx : 0;
  const demandNs = Math.max(provenNs, slope * 1e9);
  if (demandNs <= 0) return UNKNOWN_RATE;
  return { saturatesAt: (servers - idle) / (demandNs / 1e9), how: restOf(idle / servers), demandNs };
}

function byWork(
  points: readonly Point[],
  demandNs: number,
  servers: number,
  leastWorkNs: number,
): Rate & Partial<QueueModel> {
  if (points.length === 0 || demandNs <= 0) return UNKNOWN_RATE;
  const rests = points.map(({ busy, perSecond, workNs }) =>
    Math.min(MOST_IDLE * servers, Math.max(0, busy - (perSecond * workNs) / 1e9)),
  );
  const rest = rests[rests.length - 1];
  const { busy, perSecond } = points[points.length - 1];
  const saturatesAt = ((servers - rest) * 1e9) / demandNs;
  const even = busy > 0 ? (servers * perSecond) / busy : saturatesAt;
  const most = ((servers - Math.min(...rests)) * 1e9) / Math.min(demandNs, leastWorkNs);
  return {
    saturatesAt,
    saturatesBetween: { low: Math.min(saturatesAt, even), high: Math.max(saturatesAt, most) },
    how: restOf(rest / servers),
    demandNs,
  };
}

function restOf(share: number): string {
  return share > 0.01
    ? `measured utilisation, of which ${(100 * share).toFixed(0)} % belongs to no request`
    : 'measured utilisation / rate';
}

/** Stated work per request over some windows; null where it is not stated. */
function statedOver(own: Series, windows: readonly number[], { timeline }: Frame): number | null {
  if (own.statedWork === null) return null;
  let ns = 0;
  let n = 0;
  for (const w of windows) {
    ns += own.statedWork.ns[w];
    n += timeline.windows[w].requests;
  }
  return n > 0 ? ns / n : null;
}

/** Windows with fewer answers are left to chance. */
const FEWEST_ANSWERS = 50;

/** Least work of an answered request over the windows, overloaded ones included: what a busy loop needs for one. */
function leastGoodWork(own: Series, { rising }: Frame): number {
  const { statedWork } = own;
  if (statedWork === null) return Number.POSITIVE_INFINITY;
  const means = rising
    .filter((w) => statedWork.good[w] >= FEWEST_ANSWERS)
    .map((w) => statedWork.goodNs[w] / statedWork.good[w]);
  return Math.min(Number.POSITIVE_INFINITY, ...means);
}

function leastSquares(points: readonly Point[]): { slope: number; intercept: number; r2: number } | null {
  const mx = mean(points.map((p) => p.perSecond));
  const my = mean(points.map((p) => p.busy));
  let sxx = 0;
  let sxy = 0;
  let syy = 0;
  for (const { perSecond, busy } of points) {
    sxx += (perSecond - mx) ** 2;
    sxy += (perSecond - mx) * (busy - my);
    syy += (busy - my) ** 2;
  }
  if (sxx === 0 || syy === 0) return null;
  return { slope: sxy / sxx, intercept: my - (sxy / sxx) * mx, r2: (sxy * sxy) / (sxx * syy) };
}
