import type { InFlight } from './in-flight.ts';
import type { Window } from './windows.ts';

/** Points of a window at which the backlog is looked at. */
const SAMPLES = 24;
/** A backlog that grows by this many standard deviations of its own noise is growing. */
const NOISE = 4;
const GROWTH_OF_ENTERED = 0.05;
const FEWEST = 20;

type Stretch = Pick<Window, 'startNs' | 'endNs' | 'requests'>;

/** @returns by how many the requests in flight grow over a window (least-squares slope × its length), and their mean. */
export function backlogGrowth(
  backlog: InFlight,
  { startNs, endNs }: Stretch,
): { growth: number; mean: number } {
  const step = (endNs - startNs) / SAMPLES;
  let sum = 0;
  let slope = 0;
  let spread = 0;
  for (let s = 0; s < SAMPLES; s++) {
    const inFlight = backlog.at(startNs + (s + 0.5) * step);
    const x = s - (SAMPLES - 1) / 2;
    sum += inFlight;
    slope += x * inFlight;
    spread += x * x;
  }
  return { growth: (slope / spread) * SAMPLES, mean: sum / SAMPLES };
}

/**
 * Whether the backlog stays: its growth is within four times the noise √(mean in flight), or below 5 % of the arrivals.
 * null with fewer than 20 arrivals.
 */
export function isStable(backlog: InFlight, window: Stretch): boolean | null {
  if (window.requests < FEWEST) return null;
  const { growth, mean } = backlogGrowth(backlog, window);
  return growth <= Math.max(NOISE * Math.sqrt(Math.max(1, mean)), GROWTH_OF_ENTERED * window.requests);
}
