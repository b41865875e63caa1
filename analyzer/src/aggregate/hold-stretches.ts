import type { Hold } from './activity.ts';
import type { Series } from './series.ts';

/** From so many holds in one request on, those that end together are taken stretch by stretch. */
const MANY = 64;

/** A hold, or a stretch of several, and how many holds contain it. */
export interface Stretch {
  readonly part: Hold;
  readonly times: number;
}

/**
 * Thousands of rows locked one after the other until COMMIT: the stretch between two grants lies in every hold that began
 * before it, and is looked at once instead of once for each of them.
 */
export function stretchesOf(holds: readonly Hold[], series: readonly Series[]): Stretch[] {
  if (holds.length <= MANY) return holds.map((part) => ({ part, times: 1 }));
  const together = Map.groupBy(holds, ({ queue, instance, key, host, endNs }) => {
    const lane = series[queue].keys.some((one) => one.key === key) ? key : '';
    return `${queue} ${instance} ${host} ${endNs} ${lane}`;
  });
  return [...together.values()].flatMap((own) => {
    const byStart = own.sort((a, b) => a.startNs - b.startNs);
    return byStart.map((hold, i) => ({
      part: { ...hold, endNs: byStart[i + 1]?.startNs ?? hold.endNs },
      times: i + 1,
    }));
  });
}
