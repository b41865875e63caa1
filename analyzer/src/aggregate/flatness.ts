import { demandOver, type QueueModel } from './queue-model.ts';
import type { Lane } from './series.ts';

/** Own demand, or visits, that stay within this share are flat. */
export const FLAT = 0.15;

/**
 * Largest relative difference of two means that chance explains: three standard errors, for values that scatter as
 * much as their mean (exponential service).
 */
export function chance(n: number, m: number): number {
  return n > 0 && m > 0 ? 3 * Math.sqrt(1 / n + 1 / m) : Number.POSITIVE_INFINITY;
}

/** Fewer holds than this in a window make its mean a matter of chance. */
const FEWEST_HOLDS = 15;

/** Own demand by window; flat when the upper windows below the knee cost at most 15 % more or less than the lower. */
export function flatness(
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
