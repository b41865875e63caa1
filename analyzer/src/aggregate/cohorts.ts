import { apportionedMeans, ExactSum, roundedMean } from './exact-sum.ts';
import type { Parts } from './groups.ts';
import { nearestRank } from './latency.ts';
import type { Requests } from './requests-types.ts';
import type { Cohort } from './types.ts';

/**
 * Requests around a percentile, by rank of their duration, both ends included, in thousandths of a percent:
 * the middle tenth, the hundredth around p99, and the slowest hundredth. Every cohort has at least one request.
 */
const COHORTS = [
  { name: 'median', from: 45_000, to: 55_000 },
  { name: 'p99', from: 98_500, to: 99_500 },
  { name: 'slowest1%', from: 99_000, to: 100_000 },
] as const;

/** @returns the mean decomposition of each cohort; the means of its parts add up to its mean. */
export function cohortsOf(requests: Requests, parts: Parts, members: ArrayLike<number>): Cohort[] {
  const n = members.length;
  if (n === 0) return [];
  const ranked = rankByDuration(requests, members);
  return COHORTS.map(({ name, from, to }) => {
    // The slowest hundredth holds ceil(n / 100) requests.
    const first = name === 'slowest1%' ? n - Math.ceil(n / 100) : nearestRank(from, n) - 1;
    const chosen = ranked.slice(first, nearestRank(to, n));
    const sums = new Map<string, { segment: Cohort['segments'][number]; sum: ExactSum }>();
    const whole = new ExactSum();
    for (const r of chosen) {
      whole.add(requests.durationNs[r]);
      const t = requests.tree[r];
      for (let e = parts.offset[t]; e < parts.offset[t + 1]; e++) {
        const { segment, resource } = parts.keys[parts.key[e]];
        const id = JSON.stringify([segment, resource]);
        let entry = sums.get(id);
        if (!entry) {
          entry = { segment: { segment, resource, meanNs: 0 }, sum: new ExactSum() };
          sums.set(id, entry);
        }
        entry.sum.add(parts.ns[e]);
      }
    }
    const rows = [...sums].sort(([a, x], [b, y]) =>
      x.sum.total === y.sum.total ? (a < b ? -1 : 1) : x.sum.total > y.sum.total ? -1 : 1,
    );
    const means = apportionedMeans(
      rows.map(([, row]) => row.sum.total),
      chosen.length,
    );
    return {
      name,
      count: chosen.length,
      meanNs: roundedMean(whole.total, chosen.length),
      segments: rows.map(([, row], i) => ({ ...row.segment, meanNs: means[i] })),
    };
  });
}

/** Fastest first; ties in the order of the requests, which does not depend on the order of the input. */
export function rankByDuration(requests: Requests, members: ArrayLike<number>): number[] {
  const { durationNs } = requests;
  return Array.from(members).sort((a, b) => durationNs[a] - durationNs[b] || a - b);
}
