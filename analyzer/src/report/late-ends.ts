import type { Statement } from '../infer/types.ts';
import type { Resource } from '../model/span.ts';
import type { Tally } from '../tree/tally.ts';
import type { SkewPair } from '../tree/types.ts';
import { count, duration } from './units.ts';

/** Up to here a server span that ends after its call may as well have been recorded late by a busy process. */
const LATE_NS = 5e6;
/** Fewer of the requests are no more than the line among the repairs. */
const LEAST_SHARE = 0.01;

/** @returns whether spans of this pair were moved left, by so little that their ends may only have been recorded late. */
export function maybeLateEnds({ medianOffsetNs }: SkewPair): boolean {
  return medianOffsetNs < 0 && medianOffsetNs >= -LATE_NS;
}

/** @returns one sentence for each pair of services on one host, which has one clock, whose server spans end late. */
export function lateEnds({ trueRoots, trees, counters }: Tally, resources: readonly Resource[]): Statement[] {
  const requests = trueRoots > 0 ? trueRoots : trees;
  return counters.skew
    .filter((pair) => maybeLateEnds(pair) && pair.count >= LEAST_SHARE * requests)
    .flatMap((pair): Statement[] => {
      const host = commonHost(resources, pair);
      if (host === null) return [];
      const { from, to, count: n, medianOffsetNs } = pair;
      return [
        {
          id: 'ends-recorded-late',
          text: `${from} and ${to} run on one host (${host}), so their clocks agree: ${count(n)} server spans of ${to} that end after the call from ${from}, by ${duration(-medianOffsetNs)} (median), were recorded late by a busy process, and moved into the call`,
          values: { from, to, spans: n, medianOffsetNs },
        },
      ];
    });
}

/** @returns the host that all processes of both services name (`host.id`, else `host.name`); null when there is none. */
function commonHost(resources: readonly Resource[], { from, to }: SkewPair): string | null {
  const hosts = new Set(
    resources
      .filter(({ service }) => service === from || service === to)
      .map(({ attributes }) => attributes.get('host.id') ?? attributes.get('host.name') ?? null),
  );
  const [host] = hosts;
  return hosts.size === 1 && typeof host === 'string' && host !== '' ? host : null;
}
