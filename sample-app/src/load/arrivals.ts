/**
 * Where in time the arrivals of a step lie.
 *
 * - `even`: constant spacing.
 * - `random`: exactly `rate` arrivals in each second, at uniformly random positions. Locally like a Poisson
 *   process, but without the noise of its counts: a step of 50/s has 50 in each second.
 * - `poisson`: exponential gaps; the number in a second varies by its square root.
 */
export const ARRIVAL_PATTERNS = ['even', 'random', 'poisson'] as const;
export type ArrivalPattern = (typeof ARRIVAL_PATTERNS)[number];

/** @returns offsets from the start of the step in seconds, ascending, all within [0, seconds). */
export function arrivalOffsets(
  pattern: ArrivalPattern,
  perSecond: number,
  seconds: number,
  random: () => number,
): number[] {
  const offsets: number[] = [];
  if (pattern === 'even') {
    const count = Math.round(perSecond * seconds);
    for (let index = 0; index < count; index++) offsets.push(index / perSecond);
  } else if (pattern === 'poisson') {
    const gap = () => -Math.log(1 - random()) / perSecond;
    for (let at = gap(); at < seconds; at += gap()) offsets.push(at);
  } else {
    // A fractional rate carries its rest into the next second, so that the total is right.
    for (let second = 0; second < seconds; second++) {
      const length = Math.min(1, seconds - second);
      const count = Math.round(perSecond * (second + length)) - Math.round(perSecond * second);
      const inside = Array.from({ length: count }, () => second + random() * length);
      offsets.push(...inside.sort((a, b) => a - b));
    }
  }
  return offsets;
}
