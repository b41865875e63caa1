import { mean } from './averages.ts';
import type { Frame, QueueModel } from './queue-model.ts';
import { type Rate, UNKNOWN_RATE } from './rate.ts';

/** Fewer windows, or less explained variance, and the line's start is chance; no process idles at more than this. */
const LINE_POINTS = 4;
const LINE_R2 = 0.9;
const MOST_IDLE = 0.3;

/**
 * A loop that measured its own utilisation: u = u0 + rate × D by least squares over the windows below the knee (through
 * 0 with fewer than four, or where they are on no line); u0 is what no request accounts for, D at least what slices prove. R = (1 − u0) / D.
 */
export function measuredRate(
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
