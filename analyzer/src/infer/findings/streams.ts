import type { Requests } from '../../aggregate/requests-types.ts';
import { sortByKey } from '../../model/ordering.ts';
import type { Facts } from '../facts.ts';
import { duration, percent } from '../numbers.ts';
import type { Finding } from './finding.ts';

/** A mean request this long is a stream, a long poll or a download rather than an answer … */
const LONG_NS = 1e9;
/** … where at most these shares of its time are waiting and proven work … */
const MOST_WAITING = 0.1;
const MOST_WORKING = 0.1;
/** … and nothing accounts for this share. */
const LEAST_IDLE = 0.8;
/** It dominates with this share of the slowest hundredth, or of all time that nothing accounts for … */
const DOMINATES = 0.5;
/** … where without it p99 is this many times shorter. */
const SHORTER = 3;
/** Fewer other requests have no p99 to speak of. */
const FEWEST_OTHERS = 30;
const P99 = 0.99;

interface Stream {
  readonly route: string;
  readonly count: number;
  readonly medianNs: number;
  readonly idleShare: number;
  readonly slowestShare: number;
  readonly unaccountedShare: number;
  readonly p99Ns: number;
  readonly p99WithoutNs: number;
  /** The route with the most of the other requests. */
  readonly other: string;
}

/** A route whose requests stay open and do nothing: percentiles, coverage and the assumed objective speak of it alone. */
export const streamDominates: Finding<Stream> = {
  id: 'stream-dominates',
  check(facts) {
    const { requests } = facts;
    const candidates = longIdleRoutes(facts);
    if (candidates.size === 0) return [];
    const all: number[] = [];
    const others: number[] = [];
    const countOf = new Map<number, number>();
    for (let i = 0; i < requests.count; i++) {
      all.push(i);
      if (candidates.has(requests.route[i])) continue;
      others.push(i);
      countOf.set(requests.route[i], (countOf.get(requests.route[i]) ?? 0) + requests.weight[i]);
    }
    if (others.length < FEWEST_OTHERS) return [];
    const p99Ns = percentile(requests, all, P99);
    const p99WithoutNs = percentile(requests, others, P99);
    if (p99Ns < SHORTER * p99WithoutNs) return [];
    const [[other]] = [...countOf].sort((a, b) => b[1] - a[1]);
    const slowest = all.filter((i) => requests.durationNs[i] >= p99Ns);
    const slowestWeight = weightOf(requests, slowest);
    return [...candidates].flatMap(([route, { idleShare, unaccountedShare }]): Stream[] => {
      const own = all.filter((i) => requests.route[i] === route);
      const slowestShare =
        weightOf(
          requests,
          slowest.filter((i) => requests.route[i] === route),
        ) / slowestWeight;
      if (Math.max(slowestShare, unaccountedShare) < DOMINATES) return [];
      return [
        {
          route: requests.routes[route],
          count: own.length,
          medianNs: percentile(requests, own, 0.5),
          idleShare,
          slowestShare,
          unaccountedShare,
          p99Ns,
          p99WithoutNs,
          other: requests.routes[other],
        },
      ];
    });
  },
  format: (found) =>
    `${found.route} stays open without doing anything, as a stream, a long poll or a download does: its ${found.count} requests last ${duration(found.medianNs)} (median), ${percent(found.idleShare)} of it neither waiting nor computing. They are ${percent(found.slowestShare)} of the slowest hundredth and ${percent(found.unaccountedShare)} of the time that nothing accounts for, so percentiles, coverage and an assumed objective speak of them (p99 ${duration(found.p99Ns)}, without them ${duration(found.p99WithoutNs)}); look at the others by themselves: --route "${found.other}"`,
  summary: (count) => (count === 1 ? 'route that stays open' : 'routes that stay open'),
  values: ({ count, medianNs, idleShare, slowestShare, unaccountedShare, p99Ns, p99WithoutNs }) => ({
    requests: count,
    medianNs,
    idleShare,
    slowestShare,
    unaccountedShare,
    p99Ns,
    p99WithoutNs,
  }),
};

/** Routes of long requests that neither wait nor work, by number; with their share of all unaccounted time. */
function longIdleRoutes({
  requests,
  parts,
}: Facts): ReadonlyMap<number, { readonly idleShare: number; readonly unaccountedShare: number }> {
  const n = requests.routes.length;
  const weights = new Float64Array(n);
  const totalNs = new Float64Array(n);
  for (let i = 0; i < requests.count; i++) {
    weights[requests.route[i]] += requests.weight[i];
    totalNs[requests.route[i]] += requests.durationNs[i] * requests.weight[i];
  }
  const isLong = totalNs.map((ns, route) => (ns > LONG_NS * weights[route] ? 1 : 0));
  if (!isLong.includes(1)) return new Map();
  const kinds = parts.keys.map(({ segment }) =>
    segment === 'unaccounted' ? 0 : segment === 'work' ? 1 : /_(wait|pause)$/.test(segment) ? 2 : 3,
  );
  const [idleNs, workNs, waitNs] = [0, 1, 2].map(() => new Float64Array(n));
  for (let i = 0; i < requests.count; i++) {
    const t = requests.tree[i];
    const route = requests.route[i];
    for (let e = parts.offset[t]; e < parts.offset[t + 1]; e++) {
      const ns = parts.ns[e] * requests.weight[i];
      const kind = kinds[parts.key[e]];
      if (kind === 0) idleNs[route] += ns;
      else if (kind === 1) workNs[route] += ns;
      else if (kind === 2) waitNs[route] += ns;
    }
  }
  const allIdleNs = idleNs.reduce((a, b) => a + b, 0);
  const found = new Map<number, { idleShare: number; unaccountedShare: number }>();
  for (let route = 0; route < n; route++) {
    const ns = totalNs[route];
    if (isLong[route] === 0 || waitNs[route] > MOST_WAITING * ns || workNs[route] > MOST_WORKING * ns)
      continue;
    if (idleNs[route] < LEAST_IDLE * ns) continue;
    found.set(route, { idleShare: idleNs[route] / ns, unaccountedShare: idleNs[route] / allIdleNs });
  }
  return found;
}

/** Nearest rank of a weighted percentile of the duration, ns. */
function percentile(requests: Requests, members: readonly number[], q: number): number {
  const ranked = Int32Array.from(members);
  sortByKey(ranked, requests.durationNs);
  const wanted = q * weightOf(requests, members);
  let reached = 0;
  for (const i of ranked) {
    reached += requests.weight[i];
    if (reached >= wanted) return requests.durationNs[i];
  }
  return requests.durationNs[ranked[ranked.length - 1]];
}

function weightOf(requests: Requests, members: readonly number[]): number {
  return members.reduce((sum, i) => sum + requests.weight[i], 0);
}
