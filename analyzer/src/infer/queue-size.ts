import type { ResourceRow } from '../aggregate/types.ts';
import type { ResourceKind } from '../classify/types.ts';

/** How many servers one queue needs at a rate, by the rule of thumb and by Erlang C. */
export interface QueueSize {
  readonly resource: string;
  readonly kind: ResourceKind;
  readonly service: string;
  /** Servers it has now; null when unknown. */
  readonly capacity: number | null;
  /** Arrivals at the wanted rate of requests. */
  readonly arrivalsPerSecond: number;
  /** Mean hold in the calmest window: overload stretches holds. */
  readonly meanHoldNs: number;
  /** Servers busy on average: arrivals × hold, in erlangs. */
  readonly offeredLoad: number;
  /** 1.5 and 2 times the offered load, rounded up. */
  readonly ruleOfThumb: { readonly low: number; readonly high: number };
  /** Smallest number of servers whose mean wait is at most the wanted one; null beyond {@link MOST_SERVERS}. */
  readonly erlangServers: number | null;
  readonly erlangWaitNs: number | null;
  /** Mean wait with the servers it has now; null when they are unknown or too few for the rate. */
  readonly waitNowNs: number | null;
  /** A row lock has one server however often it is asked for: it cannot be sized, only shortened or split. */
  readonly sizable: boolean;
}

/**
 * Sizes every queue whose visits and holds were measured.
 *
 * Erlang C assumes arrivals at random and holds that vary exponentially; it is the cautious side of most pools and the
 * careless side of bursts.
 */
export function sizeQueues(
  resources: readonly ResourceRow[],
  requestsPerSecond: number,
  meanWaitNs: number,
): QueueSize[] {
  return resources.flatMap((row): QueueSize[] => {
    const meanHoldNs = calmHold(row);
    if (meanHoldNs === null || row.visitsPerRequest === null) return [];
    const arrivalsPerSecond = requestsPerSecond * row.visitsPerRequest;
    const offeredLoad = (arrivalsPerSecond * meanHoldNs) / 1e9;
    const erlangServers = serversFor(offeredLoad, meanHoldNs, meanWaitNs);
    return [
      {
        resource: row.resource,
        kind: row.kind,
        service: row.service,
        capacity: row.capacity,
        arrivalsPerSecond,
        meanHoldNs,
        offeredLoad,
        ruleOfThumb: {
          low: Math.max(1, Math.ceil(offeredLoad * 1.5)),
          high: Math.max(1, Math.ceil(offeredLoad * 2)),
        },
        erlangServers,
        erlangWaitNs: erlangServers === null ? null : meanWait(erlangServers, offeredLoad, meanHoldNs),
        waitNowNs:
          row.capacity === null || row.capacity > MOST_SERVERS
            ? null
            : meanWait(Math.round(row.capacity), offeredLoad, meanHoldNs),
        sizable: row.kind !== 'lock',
      },
    ];
  });
}

/**
 * Probability that an arrival has to wait (Erlang C), by the recurrence of Erlang B:
 * B(0) = 1, B(c) = a B(c-1) / (c + a B(c-1)), C = B / (1 - (a/c)(1 - B)).
 *
 * @param offeredLoad arrivals × mean hold, erlangs; below `servers`.
 */
export function erlangC(servers: number, offeredLoad: number): number {
  let blocking = 1;
  for (let c = 1; c <= servers; c++) blocking = (offeredLoad * blocking) / (c + offeredLoad * blocking);
  return blocking / (1 - (offeredLoad / servers) * (1 - blocking));
}

/** @returns mean wait in ns, C × hold / (c - a); null when the servers cannot keep up. */
export function meanWait(servers: number, offeredLoad: number, meanHoldNs: number): number | null {
  if (servers <= offeredLoad) return null;
  return (erlangC(servers, offeredLoad) * meanHoldNs) / (servers - offeredLoad);
}

/** A queue that needs more servers than this is not a queue to be sized: a hold was measured or stated wrong. */
export const MOST_SERVERS = 100_000;

/** Walks the recurrence of Erlang B upwards until the mean wait is short enough. */
function serversFor(offeredLoad: number, meanHoldNs: number, wantedNs: number): number | null {
  let blocking = 1;
  for (let c = 1; c <= MOST_SERVERS; c++) {
    blocking = (offeredLoad * blocking) / (c + offeredLoad * blocking);
    if (c <= offeredLoad) continue;
    const waits = blocking / (1 - (offeredLoad / c) * (1 - blocking));
    if ((waits * meanHoldNs) / (c - offeredLoad) <= wantedNs) return c;
  }
  return null;
}

/** Mean hold in the calmest window: the lowest utilisation, else (where that is unknown) the fewest arrivals. */
function calmHold({ windows }: ResourceRow): number | null {
  let best: number | null = null;
  let least = Infinity;
  const known = windows.some((window) => window.utilization !== null && window.meanHoldNs !== null);
  for (const { arrivalsPerSecond, meanHoldNs, utilization } of windows) {
    const load = known ? utilization : arrivalsPerSecond;
    if (meanHoldNs === null || load === null || arrivalsPerSecond <= 0 || load >= least) continue;
    least = load;
    best = meanHoldNs;
  }
  return best;
}
